// SPDX-License-Identifier: Apache-2.0
// CompositeValue: what a variant that holds the parts of one value (a ragged or sparse tensor)
// carries: tensors, and what kind of value they are parts of.
// Ownership: shares its tensors; variants share it.
// Threads: any, as it is immutable.
// Errors: none; whoever makes one asks CheckDepth.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "thalweg/base/str_cat.h"
#include "thalweg/resources/nested_variant.h"
#include "thalweg/tensor/tensor.h"

namespace thalweg {

class CompositeValue : public NestedVariant {
 public:
  // `kind`: the class of its type specification, as the metadata numbers it.
  CompositeValue(uint64_t kind, std::vector<Tensor> components)
      : kind_(kind), components_(std::move(components)) {
    for (const Tensor& component : components_) depth_ = std::max(depth_, DepthAround(component));
  }

  uint64_t kind() const { return kind_; }
  const std::vector<Tensor>& components() const { return components_; }
  int depth() const override { return depth_; }
  std::string TypeName() const override { return "CompositeTensorVariant"; }
  std::string DebugString() const override {
    return StrCat("a value of ", components_.size(), " components");
  }

 private:
  const uint64_t kind_;
  const std::vector<Tensor> components_;
  int depth_ = 1;
};

}  // namespace thalweg
