// SPDX-License-Identifier: Apache-2.0
// Ranges of quantized tensors in shape functions. Private to this family.
// Ownership: the context is the caller's.
// Threads: any, on distinct contexts.
// Errors: InvalidArgument for ends that are no scalars.
#pragma once

#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {

inline constexpr std::string_view kNotDifferentiable = "levels are integers";

// `count` inputs from `first` on are scalars.
inline Status ScalarInputs(ShapeContext& c, int first, int count) {
  for (int i = first; i < first + count; ++i) RETURN_IF_ERROR(c.InputWithRank(i, 0).status());
  return OkStatus();
}
// The outputs from `first` on are scalars: the ends of a range.
inline void ScalarOutputs(ShapeContext& c, int first) {
  for (int i = first; i < c.num_outputs(); ++i) c.set_output(i, PartialShape(Shape{}));
}

}  // namespace thalweg
