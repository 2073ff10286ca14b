// SPDX-License-Identifier: Apache-2.0
// NestedVariant: a variant value that holds tensors, which may be variants again. Such values are
// copied and freed by recursion, so whoever makes one checks that it is at most kMaxDepth deep:
//
//   RETURN_IF_ERROR(CheckDepth(*value));
//
// Ownership: variants share it; it shares its tensors.
// Threads: any, as it is immutable.
// Errors: InvalidArgument that says how deep variants may be nested.
#pragma once

#include <algorithm>

#include "thalweg/base/status.h"
#include "thalweg/tensor/tensor.h"
#include "thalweg/tensor/variant.h"

namespace thalweg {

class NestedVariant : public VariantValue {
 public:
  static constexpr int kMaxDepth = 64;
  // 1 without such values among the tensors.
  virtual int depth() const = 0;
};

// 1 more than the deepest value in the tensor, 1 when there is none.
inline int DepthAround(const Tensor& tensor) {
  int depth = 1;
  if (tensor.empty() || tensor.dtype() != DType::kVariant) return depth;
  for (const Variant& element : tensor.flat<Variant>()) {
    const auto* const inner = element.As<NestedVariant>();
    if (inner != nullptr) depth = std::max(depth, inner->depth() + 1);
  }
  return depth;
}

inline Status CheckDepth(const NestedVariant& value) {
  if (value.depth() <= NestedVariant::kMaxDepth) return OkStatus();
  return InvalidArgument("variants may be nested ", NestedVariant::kMaxDepth,
                         " deep, these are nested ", value.depth());
}

}  // namespace thalweg
