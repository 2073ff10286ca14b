// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/isa/isa.h"

#include <cpuid.h>

#include <algorithm>

#include "thalweg/compute/ew/kernels.h"
#include "thalweg/compute/gemm/gemm_kernels.h"
#include "thalweg/compute/isa/components.h"
#include "thalweg/compute/optimizer/kernels.h"
#include "thalweg/compute/reduce/kernels.h"
#include "thalweg/compute/softmax/kernels.h"

namespace thalweg::compute {
namespace {

#define THALWEG_TABLE(ENUM, LEVEL)                                                                 \
  {                                                                                                \
    IsaLevel::ENUM, &LEVEL::kGemmFloat, &LEVEL::kGemmDouble,                                       \
        {&LEVEL::kEwFloatKernels, &LEVEL::kEwDoubleKernels, &LEVEL::kEwInt32Kernels,               \
         &LEVEL::kEwInt64Kernels, &LEVEL::kEwUint32Kernels, &LEVEL::kEwUint64Kernels,              \
         &kEwBoolKernels,         &kEwComplex64Kernels,     &kEwComplex128Kernels},                \
        &LEVEL::kHalfKernels, &kReduceTables[static_cast<int>(IsaLevel::ENUM)],                    \
        &LEVEL::kSoftmaxFloat, &LEVEL::kSoftmaxDouble, &LEVEL::kUpdateFloat, &LEVEL::kUpdateDouble \
  }
#define THALWEG_REDUCE(LEVEL)                                                                \
  {                                                                                          \
    &LEVEL::kReduceFloat, &LEVEL::kReduceDouble, &LEVEL::kReduceInt32, &LEVEL::kReduceInt64, \
        &LEVEL::kReduceUint32, &LEVEL::kReduceUint64                                         \
  }
constexpr ReduceTables kReduceTables[kIsaLevels] = {THALWEG_REDUCE(sse4), THALWEG_REDUCE(avx2),
                                                    THALWEG_REDUCE(avx512)};
constexpr IsaTable kTables[kIsaLevels] = {THALWEG_TABLE(kSse4, sse4), THALWEG_TABLE(kAvx2, avx2),
                                          THALWEG_TABLE(kAvx512, avx512)};
// Equal tables at other addresses.
constexpr IsaTable kStrictTables[kIsaLevels] = {
    THALWEG_TABLE(kSse4, sse4), THALWEG_TABLE(kAvx2, avx2), THALWEG_TABLE(kAvx512, avx512)};
#undef THALWEG_TABLE
#undef THALWEG_REDUCE
static_assert(sizeof(IsaTable::ew) / sizeof(IsaTable::ew[0]) == kEwTypes);

// __builtin_cpu_supports of clang 14 does not know it.
bool HasF16c() {
  unsigned eax, ebx, ecx, edx;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}

// Costs tens of microseconds on a virtual machine, where CPUID leaves it.
IsaLevel AskHardware() {
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && HasF16c() &&
                    __builtin_cpu_supports("bmi2");
  if (!avx2) return IsaLevel::kSse4;
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                      __builtin_cpu_supports("avx512cd");
  return avx512 ? IsaLevel::kAvx512 : IsaLevel::kAvx2;
}

}  // namespace

IsaLevel HardwareIsaLevel() {
  static const IsaLevel level = AskHardware();
  return level;
}

const char* IsaLevelName(IsaLevel level) {
  constexpr const char* kNames[kIsaLevels] = {"sse4", "avx2", "avx512"};
  return kNames[static_cast<int>(level)];
}

IsaLevel BestIsaLevel() { return std::min(HardwareIsaLevel(), IsaLevel::THALWEG_MAX_ISA); }

const IsaTable& GetIsaTable(IsaLevel level) {
  const IsaLevel best = BestIsaLevel();
  return kTables[static_cast<int>(level < best ? level : best)];
}

const IsaTable& GetStrictIsaTable(IsaLevel level) {
  const IsaLevel best = BestIsaLevel();
  return kStrictTables[static_cast<int>(level < best ? level : best)];
}

bool MayUseComponents(const IsaTable& isa) {
  return &isa == &kTables[static_cast<int>(HardwareIsaLevel())];
}

}  // namespace thalweg::compute
