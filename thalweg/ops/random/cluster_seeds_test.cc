// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "thalweg/ops/random/test_recorded.h"
#include "thalweg/testing/op_case.h"

namespace thalweg {
namespace {

In Of(double value) { return In({}, {value}); }

// Alike points: whichever are drawn.
TEST(ClusterSeedsTest, KmeansPlusPlus) {
  OpCase("KmeansPlusPlusInitialization")
      .Trivial("alike points are what makes the output known")
      .Reference([](RefCall<double>& r) {
        const int64_t dims = r.in[0].shape.dim(1);
        r.out = {Array<double>(Shape{static_cast<int64_t>(r.in[1][0]), dims})};
        for (int64_t i = 0; i < r.out[0].size(); ++i) r.out[0][i] = r.in[0][i % dims];
      })
      .Try({In({4, 2}, {1, 2, 1, 2, 1, 2, 1, 2}), Of(3), Of(5), Of(2)})
      .Try({In({3, 1}, {7, 7, 7}), Of(3), Of(-1), Of(-1)})
      .Try({In({2, 0}), Of(2), Of(0), Of(0)})
      .Bad({In({3}), Of(1), Of(0), Of(0)}, {}, Code::kInvalidArgument, "")
      .Bad({In({0, 2}), Of(1), Of(0), Of(0)}, {}, Code::kInvalidArgument, "points")
      .Bad({In({3, 2}), Of(0), Of(0), Of(0)}, {}, Code::kInvalidArgument, "num_to_sample")
      .Bad({In({3, 2}), Of(4), Of(0), Of(0)}, {}, Code::kInvalidArgument, "num_to_sample")
      .Bad({In({3, 2}), Of(1), In({1}, {0}), Of(0)}, {}, Code::kInvalidArgument, "")
      .Run();
}

TEST(ClusterSeedsTest, KmeansPlusPlusRecordedBits) {
  std::vector<float> points;
  for (int i = 0; i < 60; ++i) {
    points.push_back(static_cast<float>(i * 37 % 101) / 8);
    points.push_back(static_cast<float>(i * i * 11 % 97) / 4);
    points.push_back(static_cast<float>(i * 53 % 89) / 2);
  }
  struct Row {
    int64_t wanted, retries, seed;
    std::vector<int64_t> chosen;
  };
  const Row rows[] = {
      {6, 0, 0, {9, 41, 0, 48, 24, 19}},
      {6, 3, 1, {24, 40, 53, 59, 0, 19}},
      {8, -1, -5, {21, 18, 54, 57, 14, 31, 32, 24}},
      {1, 4, 77, {41}},
      {8, 1, (int64_t{1} << 40) + 3, {2, 38, 45, 1, 11, 19, 14, 0}},
  };
  for (const Row& row : rows) {
    const std::vector<float> drawn =
        DrawnBy<float>("KmeansPlusPlusInitialization",
                       {Tensor::Of<float>(points, Shape{60, 3}), Tensor::Scalar(row.wanted),
                        Tensor::Scalar(row.seed), Tensor::Scalar(row.retries)});
    ASSERT_EQ(drawn.size(), row.chosen.size() * 3);
    for (size_t i = 0; i < drawn.size(); ++i) {
      EXPECT_EQ(drawn[i], points[static_cast<size_t>(row.chosen[i / 3]) * 3 + i % 3])
          << "seed " << row.seed << " at " << i;
    }
  }
}

// Distances that rise: every step is taken.
TEST(ClusterSeedsTest, Chain) {
  OpCase("KMC2ChainInitialization")
      .Reference([](RefCall<double>& r) {
        r.out = {Array<double>(Shape{})};
        r.out[0][0] = static_cast<double>(r.in[0].size() - 1);
      })
      .Try({In({5}, {1, 2, 3, 5, 8}), Of(3)})
      .Try({In({1}, {4}), Of(-3)})
      .Bad({In({0}), Of(3)}, {}, Code::kInvalidArgument, "distances")
      .Bad({In({2, 2}), Of(3)}, {}, Code::kInvalidArgument, "")
      .Bad({In({2}), In({1}, {3})}, {}, Code::kInvalidArgument, "")
      .Run();
}

TEST(ClusterSeedsTest, ChainRecordedBits) {
  std::vector<float> mixed, falling;
  for (int i = 0; i < 12; ++i) {
    mixed.push_back(static_cast<float>(5.0 / (1 + i * 7 % 13)));
    falling.push_back(std::exp2f(static_cast<float>(2 * (12 - i))));
  }
  const int64_t seeds[] = {0, 1, 2, 3, -7, (int64_t{1} << 40) + 3};
  const int64_t of_mixed[] = {11, 11, 11, 10, 10, 11}, of_falling[] = {0, 0, 0, 1, 0, 0};
  const auto end = [](const std::vector<float>& distances, int64_t seed) {
    return DrawnBy<int64_t>("KMC2ChainInitialization", {VectorOf(distances), Tensor::Scalar(seed)});
  };
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(end(mixed, seeds[i]), std::vector<int64_t>{of_mixed[i]}) << seeds[i];
    EXPECT_EQ(end(falling, seeds[i]), std::vector<int64_t>{of_falling[i]}) << seeds[i];
  }
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(end({1, nan, 0}, 4), std::vector<int64_t>{0});
}

}  // namespace
}  // namespace thalweg
