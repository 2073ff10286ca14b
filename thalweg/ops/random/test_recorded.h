// SPDX-License-Identifier: Apache-2.0
// Small tables of values that TensorFlow 2.21 gave on one thread.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "thalweg/testing/kernel_call.h"

namespace thalweg {

template <class T>
Tensor VectorOf(const std::vector<T>& values) {
  return Tensor::Of<T>(values, Shape{static_cast<int64_t>(values.size())});
}

template <class T>
std::vector<T> ValuesOf(const Tensor& tensor) {
  return std::vector<T>(tensor.data<T>(), tensor.data<T>() + tensor.num_elements());
}

// Output 0 of one call.
template <class T>
std::vector<T> DrawnBy(const char* op, std::vector<Tensor> inputs, AttrMap attrs = {}) {
  KernelCall call(op, std::move(inputs), std::move(attrs));
  const Status status = call.Run();
  EXPECT_TRUE(status.ok()) << op << ": " << status.ToString();
  return status.ok() ? ValuesOf<T>(call.output(0)) : std::vector<T>();
}

inline Code CodeOf(const char* op, std::vector<Tensor> inputs, AttrMap attrs = {}) {
  return KernelCall(op, std::move(inputs), std::move(attrs)).Run().code();
}

}  // namespace thalweg
