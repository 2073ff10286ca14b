// SPDX-License-Identifier: Apache-2.0
// What shape functions of sparse tensors share.
//   RETURN_IF_ERROR(CheckSparse(c, 0));       // indices, values, shape are inputs 0, 1, 2
//
// Ownership: the context is the caller's.
// Threads: any, on distinct contexts.
// Errors: InvalidArgument for ranks and sizes that do not belong together.
#pragma once

#include "thalweg/graph/shape_inference.h"

namespace thalweg {

inline Status CheckSparse(ShapeContext& c, int first) {
  ASSIGN_OR_RETURN(const PartialShape indices, c.InputWithRank(first, 2));
  ASSIGN_OR_RETURN(const PartialShape values, c.InputWithRank(first + 1, 1));
  ASSIGN_OR_RETURN(const PartialShape shape, c.InputWithRank(first + 2, 1));
  if (!MergeDims(indices.dim(0), values.dim(0)).ok()) {
    return InvalidArgument("Number of elements in index (", indices.dim(0), ") and values (",
                           values.dim(0), ") do not match.");
  }
  if (!MergeDims(indices.dim(1), shape.dim(0)).ok()) {
    return InvalidArgument("Index rank (", indices.dim(1), ") and shape rank (", shape.dim(0),
                           ") do not match.");
  }
  return OkStatus();
}

// Outputs first to first + 2: a sparse tensor of `rank` dimensions (-1: unknown).
inline void SetSparseShapes(ShapeContext& c, int first, int64_t rank) {
  constexpr int64_t kUnknown = PartialShape::kUnknownDim;
  c.set_output(first, PartialShape{kUnknown, rank < 0 ? kUnknown : rank});
  c.set_output(first + 1, PartialShape{kUnknown});
  c.set_output(first + 2, PartialShape{rank < 0 ? kUnknown : rank});
}

// The rank of the sparse tensor whose indices are input `first`.
inline int64_t SparseRank(ShapeContext& c, int first) {
  const PartialShape &indices = c.input(first), &shape = c.input(first + 2);
  if (indices.rank() == 2 && indices.dim(1) >= 0) return indices.dim(1);
  return shape.rank() == 1 ? shape.dim(0) : PartialShape::kUnknownDim;
}

}  // namespace thalweg
