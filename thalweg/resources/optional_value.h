// SPDX-License-Identifier: Apache-2.0
// OptionalValue: what a variant that holds an optional carries: the components of one element, or
// nothing.
// Ownership: shares its components; variants share it.
// Threads: any, as it is immutable.
// Errors: none; whoever makes one asks CheckDepth.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "thalweg/base/str_cat.h"
#include "thalweg/resources/nested_variant.h"
#include "thalweg/tensor/tensor.h"

namespace thalweg {

class OptionalValue : public NestedVariant {
 public:
  OptionalValue() = default;
  explicit OptionalValue(std::vector<Tensor> components) : components_(std::move(components)) {
    for (const Tensor& component : *components_) depth_ = std::max(depth_, DepthAround(component));
  }

  int depth() const override { return depth_; }

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
