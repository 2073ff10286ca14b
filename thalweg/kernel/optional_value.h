// SPDX-License-Identifier: Apache-2.0
// OptionalValue: what a variant that holds an optional carries: the components of one element, or
// nothing. Immutable. Optionals of optionals are kMaxDepth deep at most (whoever makes one checks):
// they are copied and freed by recursion.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "thalweg/base/str_cat.h"
#include "thalweg/tensor/tensor.h"
#include "thalweg/tensor/variant.h"

namespace thalweg {

class OptionalValue : public VariantValue {
 public:
  OptionalValue() = default;
  explicit OptionalValue(std::vector<Tensor> components) : components_(std::move(components)) {
    for (const Tensor& component : *components_) {
      if (component.dtype() != DType::kVariant) continue;
      for (const Variant& element : component.flat<Variant>()) {
        const auto* const inner = element.As<OptionalValue>();
        if (inner != nullptr) depth_ = std::max(depth_, inner->depth() + 1);
      }
    }
  }

  static constexpr int kMaxDepth = 64;
  // 1 without optionals among the components.
  int depth() const { return depth_; }

  bool has_value() const { return components_.has_value(); }
  // Only when has_value().
  const std::vector<Tensor>& components() const { return *components_; }

  std::string TypeName() const override { return "tensorflow::data::Optional"; }
  std::string DebugString() const override {
    return has_value() ? StrCat("an optional of ", components_->size(), " components")
                       : "an optional without a value";
  }

 private:
  std::optional<std::vector<Tensor>> components_;
  int depth_ = 1;
};

}  // namespace thalweg
