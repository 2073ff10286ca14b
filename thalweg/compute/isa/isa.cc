// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/isa/isa.h"

#include <cpuid.h>

#include <algorithm>

#include "thalweg/compute/isa/components.h"

namespace thalweg::compute {
namespace {

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

}  // namespace thalweg::compute
