// SPDX-License-Identifier: Apache-2.0
// The shape of a matrix product, for the operations that are one; each has the attributes
// transpose_a and transpose_b. Private to this family.
// Ownership: the context is the caller's.
// Threads: any, on distinct contexts.
// Errors: InvalidArgument for ranks other than 2 and inner sizes that differ.
#pragma once

#include "thalweg/graph/shape_inference.h"

namespace thalweg {

inline Status MatMulShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape a, c.InputWithRank(0, 2));
  ASSIGN_OR_RETURN(const PartialShape b, c.InputWithRank(1, 2));
  ASSIGN_OR_RETURN(const bool transpose_a, c.Attr<bool>("transpose_a"));
  ASSIGN_OR_RETURN(const bool transpose_b, c.Attr<bool>("transpose_b"));
  const Result<int64_t> inner = MergeDims(a.dim(transpose_a ? 0 : 1), b.dim(transpose_b ? 1 : 0));
  RETURN_IF_ERROR(Explained(inner.status(), "inner dimensions differ: a is ", a,
                            transpose_a ? " transposed" : "", ", b is ", b,
                            transpose_b ? " transposed" : ""));
  c.set_output(0, PartialShape{a.dim(transpose_a ? 1 : 0), b.dim(transpose_b ? 0 : 1)});
  return OkStatus();
}

}  // namespace thalweg
