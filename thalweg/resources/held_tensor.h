// SPDX-License-Identifier: Apache-2.0
// HeldTensor: a tensor inside a variant.
//
//   RETURN_IF_ERROR(HoldTensor(tensor, &variants.mutable_data<Variant>()[i]));
//
// Ownership: shares the tensor's buffer.
// Threads: immutable.
// Errors: InvalidArgument for variants nested too deep.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "thalweg/resources/nested_variant.h"

namespace thalweg {

class HeldTensor : public NestedVariant {
 public:
  explicit HeldTensor(Tensor tensor) : tensor_(std::move(tensor)), depth_(DepthAround(tensor_)) {}
  std::string TypeName() const override { return "tensorflow::Tensor"; }
  std::string DebugString() const override { return tensor_.ToString(); }
  int depth() const override { return depth_; }
  const Tensor& tensor() const { return tensor_; }

 private:
  const Tensor tensor_;
  const int depth_;
};

inline Status HoldTensor(Tensor tensor, Variant* out) {
  auto held = std::make_shared<HeldTensor>(std::move(tensor));
  RETURN_IF_ERROR(CheckDepth(*held));
  *out = Variant(std::move(held));
  return OkStatus();
}

}  // namespace thalweg
