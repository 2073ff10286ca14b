// SPDX-License-Identifier: Apache-2.0
// Points of a Sobol sequence: quasi-random, evenly spread over the unit cube.
//
//   SobolPoints(work, DType::kFloat, {.dims = 3, .count = 100, .skip = 0}, out);   // [100, 3]
//
// In the order of Gray codes, with the direction numbers of Joe and Kuo; the first point, all
// zeros, is left out. 1 <= dims <= kMaxSobolDims; count + skip < 2^31. Types: float, double. A
// float may round to 1.
// Ownership: the output is the caller's.
// Threads: any, each with its own Work.
// Errors: Unimplemented for another type; those of work.h.
#pragma once

#include <cstdint>

#include "thalweg/compute/work.h"
#include "thalweg/tensor/dtype.h"

namespace thalweg::compute {

inline constexpr int64_t kMaxSobolDims = 161;

struct SobolShape {
  int64_t dims = 1, count = 0, skip = 0;
};
Status SobolPoints(Work& work, DType dtype, const SobolShape& shape, void* out);

}  // namespace thalweg::compute
