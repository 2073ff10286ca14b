// SPDX-License-Identifier: Apache-2.0
// What the shape functions of this family share.
// Ownership: the context is the caller's.
// Threads: any, on distinct contexts.
// Errors: InvalidArgument for keys that are no scalars.
#pragma once

#include "thalweg/graph/shape_inference.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {

inline constexpr std::string_view kWhyNoCollectiveGradient =
    "its members are nodes of their own, which the gradient of one does not know";

// The keys of a second version are three scalars from input `first` on.
inline Status CheckKeyShapes(ShapeContext& c, int first) {
  for (int i = first; i < first + 3; ++i) RETURN_IF_ERROR(c.InputWithRank(i, 0).status());
  return OkStatus();
}

// What an attribute or input `input` says; -1 when it is not known.
inline int64_t GroupSize(ShapeContext& c, int input) {
  if (c.node().FindAttr("group_size") != nullptr) {
    const Result<int64_t> size = c.Attr<int64_t>("group_size");
    return size.ok() ? *size : -1;
  }
  const Tensor value = c.InputValue(input);
  if (value.empty() || value.num_elements() != 1) return -1;
  return IntAt(value, 0);
}

inline Status UnchangedCollectiveShape(ShapeContext& c) {
  RETURN_IF_ERROR(CheckKeyShapes(c, 1));
  return UnchangedShape(c);
}

}  // namespace thalweg
