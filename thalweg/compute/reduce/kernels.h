// SPDX-License-Identifier: Apache-2.0
// Reductions of one contiguous row, one table per type and level. Private to compute/.
//
// Sums are made in 32 lanes over blocks of 4096 elements; lanes and blocks are folded by fixed
// trees. So the bits depend on the length alone and are the same at every level.
// Ownership: tables are static; rows are the caller's.
// Threads: any; a loop is the caller's thread alone.
// Errors: none.
#pragma once

#include <cstdint>

namespace thalweg::compute {

inline constexpr int64_t kReduceBlock = 4096;

template <class T>
struct ReduceKernels {
  using Fn = T (*)(const T* x, int64_t n);  // n >= 1
  Fn sum, sum_squares, product, maximum, minimum;
};

#define THALWEG_REDUCE_LEVEL(LEVEL)                   \
  namespace LEVEL {                                   \
  extern const ReduceKernels<float> kReduceFloat;     \
  extern const ReduceKernels<double> kReduceDouble;   \
  extern const ReduceKernels<int32_t> kReduceInt32;   \
  extern const ReduceKernels<int64_t> kReduceInt64;   \
  extern const ReduceKernels<uint32_t> kReduceUint32; \
  extern const ReduceKernels<uint64_t> kReduceUint64; \
  }
THALWEG_REDUCE_LEVEL(sse4)
THALWEG_REDUCE_LEVEL(avx2)
THALWEG_REDUCE_LEVEL(avx512)
#undef THALWEG_REDUCE_LEVEL

// The tables of one level.
struct ReduceTables {
  const ReduceKernels<float>* f32;
  const ReduceKernels<double>* f64;
  const ReduceKernels<int32_t>* i32;
  const ReduceKernels<int64_t>* i64;
  const ReduceKernels<uint32_t>* u32;
  const ReduceKernels<uint64_t>* u64;
};

}  // namespace thalweg::compute
