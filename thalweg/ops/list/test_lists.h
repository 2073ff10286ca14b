// SPDX-License-Identifier: Apache-2.0
// Operations on lists, one at a time, for the tests of this family.
#pragma once

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "thalweg/testing/op_case.h"

namespace thalweg {

inline const Tensor kAnyShape = Tensor::Scalar<int32_t>(-1);

inline Tensor Ints(std::vector<int32_t> values) {
  return Tensor::Of<int32_t>(values, Shape{static_cast<int64_t>(values.size())});
}
inline Tensor Floats(std::vector<float> values) {
  return Tensor::Of<float>(values, Shape{static_cast<int64_t>(values.size())});
}
inline Tensor Matrix(int64_t rows, std::vector<float> values) {
  return Tensor::Of<float>(values, Shape{rows, static_cast<int64_t>(values.size()) / rows});
}

// Output `i` of one operation; element_dtype is float unless attrs say otherwise.
inline Result<Tensor> RunList(std::string_view op, const std::vector<Tensor>& inputs,
                              AttrMap attrs = {}, size_t i = 0) {
  Result<std::vector<Tensor>> got = RunOp(op, inputs, std::move(attrs));
  if (!got.ok()) return got.status();
  return (*got)[i];
}
inline AttrMap OfFloats() { return {{"element_dtype", DType::kFloat}}; }

inline Tensor Need(const Result<Tensor>& result) {
  EXPECT_TRUE(result.ok()) << result.status().ToString();
  return result.ok() ? *result : Tensor();
}
inline Tensor Reserved(int32_t size, const Tensor& shape = Ints({2})) {
  return Need(RunList("TensorListReserve", {shape, Tensor::Scalar(size)}, OfFloats()));
}
inline Tensor EmptyList(const Tensor& shape = Ints({2}), int32_t most = -1) {
  return Need(RunList("EmptyTensorList", {shape, Tensor::Scalar(most)}, OfFloats()));
}
inline Tensor ListOf(const Tensor& rows, const Tensor& shape = kAnyShape) {
  return Need(RunList("TensorListFromTensor", {rows, shape}));
}
inline Result<Tensor> Stacked(const Tensor& list, const Tensor& shape = kAnyShape) {
  return RunList("TensorListStack", {list, shape}, OfFloats());
}
inline Result<Tensor> Pushed(const Tensor& list, const Tensor& value) {
  return RunList("TensorListPushBack", {list, value});
}

inline void ExpectTensor(const Result<Tensor>& got, const Tensor& wanted) {
  ASSERT_TRUE(got.ok()) << got.status().ToString();
  EXPECT_EQ(got->shape(), wanted.shape());
  EXPECT_EQ(got->ToString(), wanted.ToString());
}
inline void ExpectRefused(const Result<Tensor>& got, std::string_view part,
                          Code code = Code::kInvalidArgument) {
  EXPECT_EQ(got.status().code(), code) << got.status().ToString();
  EXPECT_NE(got.status().message().find(part), std::string_view::npos) << got.status().ToString();
}

}  // namespace thalweg
