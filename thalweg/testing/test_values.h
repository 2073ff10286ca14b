// SPDX-License-Identifier: Apache-2.0
// Tensors of literal values in short words, for tests of single operations.
//   KernelCall call("StringStrip", {Texts({" a"})});
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "thalweg/testing/op_case.h"

namespace thalweg {

inline Tensor Texts(const std::vector<std::string>& values) {
  return Tensor::Of<std::string>(values, Shape{static_cast<int64_t>(values.size())});
}
inline Tensor Texts(const std::vector<std::string>& values, const Shape& shape) {
  return Tensor::Of<std::string>(values, shape);
}
template <class T>
Tensor Numbers(const std::vector<T>& values, const Shape& shape) {
  return Tensor::Of<T>(values, shape);
}
template <class T>
Tensor Numbers(const std::vector<T>& values) {
  return Tensor::Of<T>(values, Shape{static_cast<int64_t>(values.size())});
}

// The outputs must be these, bit by bit.
inline void ExpectOutputs(std::string_view op, const std::vector<Tensor>& inputs,
                          const AttrMap& attrs, const std::vector<Tensor>& expected) {
  const auto got = RunOp(op, inputs, attrs);
  ASSERT_TRUE(got.ok()) << op << ": " << got.status().ToString();
  ASSERT_EQ(got->size(), expected.size()) << op;
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(BitDifference((*got)[i], expected[i]), "")
        << op << ", output " << i << ": " << (*got)[i].ToString();
  }
}

inline void ExpectError(std::string_view op, const std::vector<Tensor>& inputs,
                        const AttrMap& attrs, Code code, std::string_view part) {
  const Status status = RunOp(op, inputs, attrs).status();
  EXPECT_EQ(status.code(), code) << op << ": " << status.ToString();
  EXPECT_NE(status.message().find(part), std::string_view::npos) << op << ": " << status.ToString();
}

}  // namespace thalweg
