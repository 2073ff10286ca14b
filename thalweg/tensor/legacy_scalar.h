// SPDX-License-Identifier: Apache-2.0
// Arguments that TensorFlow takes as a scalar or, from its first releases on, as a vector of one
// element. Shape functions ask for scalars all the same where TensorFlow's do.
// Ownership: values; keeps nothing of the tensor.
// Threads: any; no state.
// Errors: InvalidArgument that names `what`, for another shape or type.
#pragma once

#include <string_view>

#include "thalweg/tensor/integers.h"

namespace thalweg {

inline bool IsLegacyScalar(const Tensor& tensor) {
  return tensor.rank() <= 1 && tensor.num_elements() == 1;
}

// The one element. InvalidArgument for other shapes and types.
inline Result<int64_t> LegacyIntScalar(const Tensor& tensor, std::string_view what) {
  if (tensor.rank() == 1 && tensor.num_elements() == 1 && IsIndexType(tensor.dtype())) {
    return IntAt(tensor, 0);
  }
  return IntScalar(tensor, what);
}

}  // namespace thalweg
