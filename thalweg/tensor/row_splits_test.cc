// SPDX-License-Identifier: Apache-2.0
#include "thalweg/tensor/row_splits.h"

#include <gtest/gtest.h>

namespace thalweg {
namespace {

TEST(RowSplitsTest, OfBothIntegerTypes) {
  EXPECT_EQ(*SplitsOf(Tensor::Vector<int32_t>({0, 2, 2, 5}), 5, Cover::kWhole),
            (Splits{0, 2, 2, 5}));
  EXPECT_EQ(*SplitsOf(Tensor::Vector<int64_t>({0}), 0, Cover::kWhole), (Splits{0}));
  EXPECT_EQ(*SplitsOf(Tensor::Vector<int64_t>({1, 3}), 5, Cover::kPart), (Splits{1, 3}));
}

TEST(RowSplitsTest, RefusesWhatIsNone) {
  const auto refused = [](const Tensor& splits, Cover cover) {
    const Status status = SplitsOf(splits, 5, cover).status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    return std::string(status.message());
  };
  EXPECT_EQ(refused(Tensor::Scalar<int64_t>(0), Cover::kWhole),
            "row splits must be a vector, got shape []");
  EXPECT_EQ(refused(*Tensor::AllocateHost(DType::kInt64, Shape{0}), Cover::kPart),
            "row splits must have one element at least, got none");
  EXPECT_EQ(refused(Tensor::Vector<int64_t>({1, 5}), Cover::kWhole),
            "row splits must begin with 0, got 1");
  EXPECT_EQ(refused(Tensor::Vector<int64_t>({-1, 5}), Cover::kPart),
            "row splits must begin with 0, got -1");
  EXPECT_EQ(refused(Tensor::Vector<int64_t>({0, 3, 2, 5}), Cover::kPart),
            "row splits must not go down, got 2 behind 3");
  EXPECT_EQ(refused(Tensor::Vector<int64_t>({0, 4}), Cover::kWhole),
            "row splits end at 4, of 5 values");
  EXPECT_EQ(refused(Tensor::Vector<int32_t>({0, 6}), Cover::kPart),
            "row splits end at 6, of 5 values");
}

}  // namespace
}  // namespace thalweg
