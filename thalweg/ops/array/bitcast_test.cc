// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>

#include "thalweg/testing/op_case.h"

namespace thalweg {
namespace {

Result<Tensor> Cast(const Tensor& x, DType type) {
  ASSIGN_OR_RETURN(std::vector<Tensor> got, RunOp("Bitcast", {x}, {{"type", type}}));
  return got[0];
}

TEST(BitcastTest, KeepsTheBytes) {
  const Tensor x = Tensor::Vector<float>({1.0f, -2.5f});
  for (DType type : {DType::kInt32, DType::kUint8, DType::kDouble, DType::kUint16}) {
    const Result<Tensor> y = Cast(x, type);
    ASSERT_TRUE(y.ok()) << y.status().ToString();
    EXPECT_EQ(y->dtype(), type);
    ASSERT_EQ(y->bytes(), x.bytes());
    EXPECT_EQ(std::memcmp(y->raw_data(), x.raw_data(), x.bytes()), 0);
  }
  EXPECT_EQ(Cast(x, DType::kUint8)->shape(), (Shape{2, 4}));
  EXPECT_EQ(Cast(x, DType::kDouble)->shape(), Shape());
  EXPECT_EQ(Cast(Tensor::Scalar(1.0f), DType::kInt32)->scalar<int32_t>(), 0x3f800000);
}

TEST(BitcastTest, RefusesALastDimensionThatDoesNotFit) {
  EXPECT_EQ(Cast(Tensor::Vector<float>({1, 2, 3}), DType::kDouble).status().code(),
            Code::kInvalidArgument);
  EXPECT_EQ(Cast(Tensor::Scalar(1.0f), DType::kDouble).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace thalweg
