// SPDX-License-Identifier: Apache-2.0
// The shape of a list's elements as the operations on lists are given it: a vector with -1 for what
// is not known, or the scalar -1 for nothing.
// Ownership: a value.
// Threads: any; no state.
// Errors: InvalidArgument for a tensor that is no shape.
#pragma once

#include "thalweg/base/status.h"
#include "thalweg/tensor/integers.h"
#include "thalweg/tensor/shape.h"
#include "thalweg/tensor/tensor.h"

namespace thalweg {

inline Result<PartialShape> ElementShapeOf(const Tensor& given) {
  if (given.rank() == 0) {
    if (IntAt(given, 0) == -1) return PartialShape::Unknown();
    return InvalidArgument(
        "The only valid scalar shape tensor is the fully unknown shape specified as -1.");
  }
  if (given.rank() > 1) {
    return InvalidArgument("Shape must be at most rank 1 but is rank ", given.rank());
  }
  ASSIGN_OR_RETURN(const Dims dims, IntVector(given, "element_shape"));
  return PartialShape::Make(dims);
}

}  // namespace thalweg
