// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "thalweg/testing/test_values.h"

namespace thalweg {
namespace {

double At(const Array<double>& a, int64_t row) { return a[a.shape.rank() == 0 ? 0 : row]; }

TEST(RaggedRangeTest, Cases) {
  OpCase("RaggedRange")
      .Reference([](RefCall<double>& r) {
        int64_t rows = 1;
        for (const auto& in : r.in) rows = in.shape.rank() == 0 ? rows : in.size();
        std::vector<double> splits{0}, values;
        for (int64_t row = 0; row < rows; ++row) {
          const double limit = At(r.in[1], row), step = At(r.in[2], row);
          for (double x = At(r.in[0], row); step > 0 ? x < limit : x > limit; x += step) {
            values.push_back(x);
          }
          splits.push_back(static_cast<double>(values.size()));
        }
        const auto count = static_cast<int64_t>(values.size());
        r.out = {{Shape{rows + 1}, splits}, {Shape{count}, values}};
      })
      .ShapesFromValues("how long the rows are")
      .Types({{"T", DType::kInt32}, {"Tsplits", DType::kInt64}})
      .Types({{"T", DType::kInt64}, {"Tsplits", DType::kInt32}})
      .Types({{"T", DType::kFloat}, {"Tsplits", DType::kInt32}})
      .Types({{"T", DType::kDouble}, {"Tsplits", DType::kInt64}})
      .Try({In({3}, {0, 5, 8}), In({3}, {3, 5, 2}), In({3}, {1, 1, -2})})
      .Try({In({}, {2}), In({3}, {3, 5, 9}), In({}, {2})})
      .Try({In({}, {1}), In({}, {6}), In({}, {2})})
      .Try({In({2}, {1, 3}), In({}, {6}), In({2}, {2, -1})})
      .Bad({In({}), In({}), In({}, {0})}, {}, Code::kInvalidArgument, "delta != 0")
      .Bad({In({2}), In({1}), In({1}, {1})}, {}, Code::kInvalidArgument, "")
      .Bad({In({2}), In({1, 1}), In({1}, {1})}, {}, Code::kInvalidArgument,
           "Shape must be at most rank 1 but is rank 2 for ", "vector")
      .Run();
}

TEST(RaggedRangeTest, Ends) {
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  const auto run = [](int64_t start, int64_t limit, int64_t delta) {
    return RunOp("RaggedRange",
                 {Tensor::Scalar(start), Tensor::Scalar(limit), Tensor::Scalar(delta)});
  };
  const auto quarters = run(kLeast, kMost, int64_t{1} << 62);
  ASSERT_TRUE(quarters.ok()) << quarters.status().ToString();
  EXPECT_EQ(BitDifference((*quarters)[1],
                          Numbers<int64_t>({kLeast, -(int64_t{1} << 62), 0, int64_t{1} << 62})),
            "");
  const auto down = run(kMost, kLeast, kLeast);
  ASSERT_TRUE(down.ok()) << down.status().ToString();
  EXPECT_EQ(BitDifference((*down)[1], Numbers<int64_t>({kMost, -1})), "");
  EXPECT_EQ(run(kLeast, kMost, 1).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(RunOp("RaggedRange",
                  {Tensor::Scalar(0.0f), Tensor::Scalar(std::nanf("")), Tensor::Scalar(1.0f)})
                .status()
                .code(),
            Code::kInvalidArgument);
  ExpectOutputs("RaggedRange", {Numbers<int32_t>({}), Numbers<int32_t>({}), Numbers<int32_t>({})},
                {}, {Numbers<int64_t>({0}), Numbers<int32_t>({})});
}

}  // namespace
}  // namespace thalweg
