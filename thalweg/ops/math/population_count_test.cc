// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <bit>
#include <limits>

#include "thalweg/testing/op_case.h"

namespace thalweg {
namespace {

TEST(PopulationCountTest, Cases) {
  OpCase("PopulationCount")
      .Elementwise([](double x) {
        return double(std::popcount(static_cast<uint64_t>(static_cast<int64_t>(x))));
      })
      .Try({In({7, 31}).Range(0, 100)})
      .Try({In({}, {5})})
      .Try({In({0, 3})})
      .Run();
}

TEST(PopulationCountTest, NegativeNumbersHaveTheBitsOfTheirType) {
  const auto count = [](const Tensor& x) {
    return (*RunOp("PopulationCount", {x}))[0].scalar<uint8_t>();
  };
  EXPECT_EQ(count(Tensor::Scalar(int8_t{-1})), 8);
  EXPECT_EQ(count(Tensor::Scalar(int16_t{-2})), 15);
  EXPECT_EQ(count(Tensor::Scalar(std::numeric_limits<int32_t>::min())), 1);
  EXPECT_EQ(count(Tensor::Scalar(int64_t{-1})), 64);
}

}  // namespace
}  // namespace thalweg
