// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/isa/isa.h"

#include "thalweg/compute/gemm/gemm_kernels.h"

namespace thalweg::compute {
namespace {

constexpr IsaTable kTables[kIsaLevels] = {
    {IsaLevel::kSse4, &sse4::kGemmFloat, &sse4::kGemmDouble},
    {IsaLevel::kAvx2, &avx2::kGemmFloat, &avx2::kGemmDouble},
    {IsaLevel::kAvx512, &avx512::kGemmFloat, &avx512::kGemmDouble},
};

}  // namespace

const char* IsaLevelName(IsaLevel level) {
  constexpr const char* kNames[kIsaLevels] = {"sse4", "avx2", "avx512"};
  return kNames[static_cast<int>(level)];
}

IsaLevel BestIsaLevel() {
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("f16c") && __builtin_cpu_supports("bmi2");
  if (!avx2) return IsaLevel::kSse4;
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                      __builtin_cpu_supports("avx512cd");
  return avx512 ? IsaLevel::kAvx512 : IsaLevel::kAvx2;
}

const IsaTable& GetIsaTable(IsaLevel level) {
  const IsaLevel best = BestIsaLevel();
  return kTables[static_cast<int>(level < best ? level : best)];
}

}  // namespace thalweg::compute
