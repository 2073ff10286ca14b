// SPDX-License-Identifier: Apache-2.0
// SparseSegment: rows picked by index and summed by segment, each times a factor.
//
//   // out[segments[i], :] = sum of scale[i] * data[indices[i], :]
//   SparseSegment(work, dtype, {.inner = 64, .count = n, .segments = 10}, data, indices, segments,
//                 nullptr, out);
//
// Indices and segments are checked by the caller; segments need not be sorted. Rows of a segment
// are added in their order, in double (integers wrap), and rounded once. Rows of `out` that no
// index belongs to are left as they are. Types: real numbers; `scale` (null: 1) is for floating
// ones. Threads share columns, so bits do not depend on them.
// Ownership: operands are the caller's; nothing is kept.
// Threads: any, each with its own Work.
// Errors: Unimplemented for another type; those of work.h.
#pragma once

#include "thalweg/compute/work.h"
#include "thalweg/tensor/dtype.h"

namespace thalweg::compute {

struct SparseSegmentShape {
  int64_t inner = 1;     // elements of a row
  int64_t count = 0;     // indices
  int64_t segments = 0;  // rows of out
};

Status SparseSegment(Work& work, DType dtype, const SparseSegmentShape& shape, const void* data,
                     const int64_t* indices, const int64_t* segments, const double* scale,
                     void* out);

}  // namespace thalweg::compute
