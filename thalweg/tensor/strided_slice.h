// SPDX-License-Identifier: Apache-2.0
// StridedSlice: what x[begin:end:stride, ..., newaxis, 3] of a tensor takes, in canonical form.
//
//   ASSIGN_OR_RETURN(StridedSlice s, MakeStridedSlice(x.shape(), begin, end, strides, masks));
//   // takes sizes[i] elements of dimension i, from begin[i] on, every strides[i]-th; s.shape is
//   // the result's shape: without the dimensions that masks.shrink_axis drops, with those of
//   // new_axis
//
// begin and end may be null for inference when only their length is known. Bit i of a mask speaks
// of entry i: begin, end: "from the start", "to the end" (in the direction of the stride);
// ellipsis: the entry stands for as many whole dimensions as are needed (at most one); new_axis: a
// dimension of size 1; shrink_axis: the entry is one index, its dimension is dropped.
// Ownership: values; `begin` and `end` are read during the call.
// Threads: any; no state.
// Errors: InvalidArgument with what was expected and found.
#pragma once

#include <cstdint>

#include "thalweg/base/status.h"
#include "thalweg/tensor/shape.h"

namespace thalweg {

struct StridedSliceMasks {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t ellipsis = 0;
  int64_t new_axis = 0;
  int64_t shrink_axis = 0;
};

struct StridedSlice {
  Dims begin;    // per dimension of the input; -1 where not known
  Dims strides;  // not 0
  Dims sizes;    // -1 where not known
  PartialShape shape;
};

// Whether begin, end and strides can be vectors of one size.
Status CheckSliceArguments(const PartialShape& begin, const PartialShape& end,
                           const PartialShape& strides);
Result<StridedSlice> MakeStridedSlice(const PartialShape& input, const Dims* begin, const Dims* end,
                                      const Dims& strides, const StridedSliceMasks& masks);

}  // namespace thalweg
