// SPDX-License-Identifier: Apache-2.0
#include "thalweg/resources/quantile_sketch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "thalweg/compute/isa/isa.h"

namespace thalweg {
namespace {

QuantileSummary SketchOf(double epsilon, const std::vector<float>& values,
                         const std::vector<float>& weights) {
  compute::SerialWork work(compute::GetIsaTable(compute::BestIsaLevel()));
  QuantileSketch sketch(epsilon, static_cast<int64_t>(values.size()) + 1);
  const Status status = sketch.AddValues(work, values, weights);
  EXPECT_TRUE(status.ok()) << status.ToString();
  return sketch.Finish();
}

// Every rank lies between the bounds of its entry, and the bounds are as near as promised.
TEST(QuantileSketchTest, RanksAreWithinTheError) {
  std::mt19937 random(3);
  for (const double epsilon : {0.01, 0.05, 0.2}) {
    std::vector<float> values(20000), weights(20000);
    double total = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(random() % 5000);
      weights[i] = static_cast<float>(random() % 4);
      total += static_cast<double>(weights[i]);
    }
    const QuantileSummary summary = SketchOf(epsilon, values, weights);
    ASSERT_LT(summary.size(), 2000U);
    for (size_t i = 0; i < summary.size(); ++i) {
      const QuantileEntry& e = summary[i];
      double below = 0, up_to = 0;
      for (size_t k = 0; k < values.size(); ++k) {
        if (values[k] < e.value) below += static_cast<double>(weights[k]);
        if (values[k] <= e.value) up_to += static_cast<double>(weights[k]);
      }
      EXPECT_LE(static_cast<double>(e.min_rank), below);
      EXPECT_GE(static_cast<double>(e.max_rank), up_to);
      if (i == 0) continue;
      EXPECT_LE(static_cast<double>(e.rank_before() - summary[i - 1].rank_after()),
                2 * epsilon * total);
    }
  }
}

TEST(QuantileSketchTest, MergedSummariesKeepTheirWeight) {
  QuantileSketch sketch(0.1, int64_t{1} << 40);
  sketch.Add({{1, 2, 0, 2}, {3, 1, 2, 3}});
  sketch.Add({{2, 4, 0, 4}, {3, 1, 4, 5}});
  const QuantileSummary all = sketch.Finish();
  ASSERT_EQ(all.size(), 3U);
  const float expected[3][4] = {{1, 2, 0, 2}, {2, 4, 2, 6}, {3, 2, 6, 8}};
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(all[i].value, expected[i][0]);
    EXPECT_EQ(all[i].weight, expected[i][1]);
    EXPECT_EQ(all[i].min_rank, expected[i][2]);
    EXPECT_EQ(all[i].max_rank, expected[i][3]);
  }
  EXPECT_TRUE(sketch.Finish().empty());
}

TEST(QuantileSketchTest, BoundariesBeginAndEndWithTheSummary) {
  std::vector<float> values(1000), weights(1000, 1.0F);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  const QuantileSummary summary = SketchOf(0.001, values, weights);
  for (const int64_t count : {int64_t{-1}, int64_t{0}, int64_t{1}, int64_t{10}, int64_t{100}}) {
    const std::vector<float> boundaries = BoundaryValues(summary, count);
    ASSERT_GE(boundaries.size(), 2U) << count;
    EXPECT_EQ(boundaries.front(), 0);
    EXPECT_EQ(boundaries.back(), 999);
    EXPECT_TRUE(std::is_sorted(boundaries.begin(), boundaries.end()));
  }
  const std::vector<float> quantiles = QuantileValues(summary, 5);
  ASSERT_EQ(quantiles.size(), 5U);
  for (size_t i = 0; i < 5; ++i) EXPECT_NEAR(quantiles[i], 249.75 * static_cast<double>(i), 3);
  EXPECT_TRUE(BoundaryValues({}, 5).empty());
  EXPECT_TRUE(QuantileValues({}, 5).empty());
}

}  // namespace
}  // namespace thalweg
