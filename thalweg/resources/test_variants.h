// SPDX-License-Identifier: Apache-2.0
// Variants for tests: tensors that hold them, and what they hold.
//
//   const Tensor optional = VariantTensor(std::make_shared<const OptionalValue>());
//   EXPECT_FALSE(VariantIn<OptionalValue>(optional).has_value());
#pragma once

#include <memory>

#include "thalweg/resources/optional_value.h"
#include "thalweg/tensor/tensor.h"
#include "thalweg/tensor/variant.h"

namespace thalweg {

// A scalar; an empty variant for null.
inline Tensor VariantTensor(std::shared_ptr<const VariantValue> value) {
  Tensor tensor = *Tensor::AllocateHost(DType::kVariant, Shape());
  *tensor.mutable_data<Variant>() = Variant(std::move(value));
  return tensor;
}

template <class T>
const T& VariantIn(const Tensor& tensor, int64_t i = 0) {
  return *tensor.data<Variant>()[i].As<T>();
}

}  // namespace thalweg
