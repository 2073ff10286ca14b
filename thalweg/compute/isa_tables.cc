// SPDX-License-Identifier: Apache-2.0
// The tables that isa/isa.h and isa/components.h declare. They name the kernels of every folder
// that has some for each level, and so lie above those folders. THALWEG_ONE_LEVEL: the kernels of
// one level answer for all, in a library for the machine that builds it.
#include "thalweg/compute/ew/kernels.h"
#include "thalweg/compute/gemm/gemm_kernels.h"
#include "thalweg/compute/isa/components.h"
#include "thalweg/compute/isa/isa.h"
#include "thalweg/compute/optimizer/kernels.h"
#include "thalweg/compute/reduce/kernels.h"
#include "thalweg/compute/softmax/kernels.h"

namespace thalweg::compute {
namespace sse4 {
[[maybe_unused]] constexpr IsaLevel kLevel = IsaLevel::kSse4;
}
namespace avx2 {
[[maybe_unused]] constexpr IsaLevel kLevel = IsaLevel::kAvx2;
}
namespace avx512 {
[[maybe_unused]] constexpr IsaLevel kLevel = IsaLevel::kAvx512;
}
namespace {

#define THALWEG_TABLE(LEVEL)                                                                       \
  {                                                                                                \
    LEVEL::kLevel, &LEVEL::kGemmFloat, &LEVEL::kGemmDouble,                                        \
        {&LEVEL::kEwFloatKernels, &LEVEL::kEwDoubleKernels, &LEVEL::kEwInt32Kernels,               \
         &LEVEL::kEwInt64Kernels, &LEVEL::kEwUint32Kernels, &LEVEL::kEwUint64Kernels,              \
         &kEwBoolKernels,         &kEwComplex64Kernels,     &kEwComplex128Kernels},                \
        &LEVEL::kHalfKernels, &kReduceTables[static_cast<int>(LEVEL::kLevel)],                     \
        &LEVEL::kSoftmaxFloat, &LEVEL::kSoftmaxDouble, &LEVEL::kUpdateFloat, &LEVEL::kUpdateDouble \
  }
#define THALWEG_REDUCE(LEVEL)                                                                \
  {                                                                                          \
    &LEVEL::kReduceFloat, &LEVEL::kReduceDouble, &LEVEL::kReduceInt32, &LEVEL::kReduceInt64, \
        &LEVEL::kReduceUint32, &LEVEL::kReduceUint64                                         \
  }
#ifdef THALWEG_ONE_LEVEL
#define THALWEG_LEVELS(ENTRY) \
  { ENTRY(THALWEG_ONE_LEVEL), ENTRY(THALWEG_ONE_LEVEL), ENTRY(THALWEG_ONE_LEVEL) }
#else
#define THALWEG_LEVELS(ENTRY) \
  { ENTRY(sse4), ENTRY(avx2), ENTRY(avx512) }
#endif
constexpr ReduceTables kReduceTables[kIsaLevels] = THALWEG_LEVELS(THALWEG_REDUCE);
constexpr IsaTable kTables[kIsaLevels] = THALWEG_LEVELS(THALWEG_TABLE);
// Equal tables at other addresses.
constexpr IsaTable kStrictTables[kIsaLevels] = THALWEG_LEVELS(THALWEG_TABLE);
#undef THALWEG_LEVELS
#undef THALWEG_TABLE
#undef THALWEG_REDUCE
static_assert(sizeof(IsaTable::ew) / sizeof(IsaTable::ew[0]) == kEwTypes);

}  // namespace

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
