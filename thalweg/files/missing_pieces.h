// SPDX-License-Identifier: Apache-2.0
// MissingPieces: what of a tensor that is stored in slices none of them holds.
//
//   ASSIGN_OR_RETURN(const auto missing, MissingPieces(Shape{6, 2}, {{{{0, 2}, {0, 2}}}}));
//   Use(missing[0].ToString());  // "2,4:-"
//
// Boxes that do not overlap, whole dimensions as such; at most 64, and none where it would be more.
// Ownership: values.
// Threads: any; no state.
// Errors: InvalidArgument for a slice that does not fit into the shape.
#pragma once

#include <vector>

#include "thalweg/base/status.h"
#include "thalweg/io/tensor_slice.h"
#include "thalweg/tensor/shape.h"

namespace thalweg {

Result<std::vector<TensorSlice>> MissingPieces(const Shape& shape,
                                               const std::vector<TensorSlice>& slices);

}  // namespace thalweg
