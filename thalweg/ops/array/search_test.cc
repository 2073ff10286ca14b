// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>

#include "thalweg/testing/op_case.h"

namespace thalweg {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(SearchTest, BoundsInSortedRows) {
  for (const bool upper : {false, true}) {
    OpCase(upper ? "UpperBound" : "LowerBound")
        .Reference([upper](RefCall<double>& r) {
          const int64_t n = r.in[0].shape.dim(1), m = r.in[1].shape.dim(1);
          r.out = {Array<double>(r.in[1].shape)};
          for (int64_t i = 0; i < r.in[1].size(); ++i) {
            const double value = r.in[1][i];
            for (int64_t k = 0; k < n; ++k) {
              const double element = r.in[0][i / m * n + k];
              r.out[0][i] += upper ? !(value < element) : element < value;
            }
          }
        })
        .Try({In({2, 4}, {0, 1, 1, 3, 2, 2, 5, 9}), In({2, 5}, {0, 1, 2, 3, 4, 1, 2, 5, 9, 11})})
        .Try({In({1, 3}, {1, 2, 3}), In({1, 300}).Range(0, 5)}, {{"out_type", DType::kInt64}})
        .Try({In({2, 0}), In({2, 1}, {1, 2})})
        .Try({In({2, 3}, {1, 2, 3, 1, 2, 3}), In({2, 0})})
        .Bad({In({1, 3}, {1, 2, 3}), In({2, 1}, {1, 1})}, {}, Code::kInvalidArgument, "")
        .Bad({In({3}, {1, 2, 3}), In({3}, {1, 1, 1})}, {}, Code::kInvalidArgument, "")
        .Run();
  }
}

TEST(SearchTest, NanIsBelowNothing) {
  const Tensor row = *Tensor::Vector<float>({1, 2, 3}).Reshaped(Shape{1, 3});
  const Tensor nan = *Tensor::Vector<float>({static_cast<float>(kNan)}).Reshaped(Shape{1, 1});
  EXPECT_EQ((*RunOp("LowerBound", {row, nan}))[0].data<int32_t>()[0], 0);
  EXPECT_EQ((*RunOp("UpperBound", {row, nan}))[0].data<int32_t>()[0], 3);
}

TEST(BucketizeTest, CountsBoundaries) {
  const std::vector<float> boundaries = {-1.0f, 0.5f, 0.5f, 2.0f};
  OpCase("Bucketize")
      .Reference([&](RefCall<double>& r) {
        r.out = {Array<double>(r.in[0].shape)};
        for (int64_t i = 0; i < r.in[0].size(); ++i) {
          for (float b : boundaries) r.out[0][i] += !(r.in[0][i] < static_cast<double>(b));
        }
      })
      .Try({In({3, 40}).Range(-3, 4)}, {{"boundaries", boundaries}})
      .Try({In({5}, {-1, 0, 2, 1, -2})}, {{"boundaries", boundaries}})
      .Bad({In({2})}, {{"boundaries", std::vector<float>{2, 1}}}, Code::kInvalidArgument,
           "Expected sorted boundaries")
      .Run();
  const auto got = RunOp("Bucketize", {Tensor::Vector<double>({kNan, 1})},
                         {{"boundaries", std::vector<float>{0, 3}}});
  ASSERT_TRUE(got.ok()) << got.status().ToString();
  EXPECT_EQ((*got)[0].data<int32_t>()[0], 2);
}

}  // namespace
}  // namespace thalweg
