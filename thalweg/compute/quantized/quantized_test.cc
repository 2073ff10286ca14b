// SPDX-License-Identifier: Apache-2.0
// Levels at the ends of their types: what does not fit, what is no number, ranges without width.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "thalweg/compute/quantized/level_norm.h"
#include "thalweg/compute/quantized/levels.h"
#include "thalweg/compute/quantized/requantize.h"
#include "thalweg/compute/test_work.h"

namespace thalweg::compute {
namespace {

TEST(LevelsTest, WhatDoesNotFitSaturatesAndNoNumberIsTheLowest) {
  const float x[] = {NAN, -INFINITY, INFINITY, 1e30f, -1e30f, 0};
  int8_t levels[6];
  TestWork work;
  for (const QuantizeMode mode :
       {QuantizeMode::kMinCombined, QuantizeMode::kMinFirst, QuantizeMode::kScaled}) {
    const QuantizeGrid grid = MakeQuantizeGrid({mode}, DType::kQint8, {-1, 1}, 0);
    ASSERT_TRUE(Quantize(work, DType::kQint8, {.inner = 6}, &grid, x, levels).ok());
    const int8_t lowest = levels[1];
    EXPECT_EQ(lowest, -128);
    EXPECT_EQ(levels[0], lowest);
    EXPECT_EQ(levels[2], 127);
    EXPECT_EQ(levels[3], 127);
    EXPECT_EQ(levels[4], lowest);
  }
}

TEST(LevelsTest, ARangeWithoutWidthGrows) {
  const QuantizeGrid grid = MakeQuantizeGrid({}, DType::kQuint8, {3, 3}, 0.01f);
  EXPECT_LE(grid.range.low, 0);
  EXPECT_GE(grid.range.high, 3);
  EXPECT_GT(grid.scale, 0);
  EXPECT_TRUE(std::isfinite(MakeQuantizeGrid({}, DType::kQuint8, {0, 0}, 0.01f).scale));
  EXPECT_EQ(LevelOfReal(DType::kQuint8, {2, 2}, 2), 0);
}

TEST(LevelsTest, EveryLevelComesBack) {
  for (int level = -128; level < 128; ++level) {
    const RealRange range{-1.5f, 1.0f};
    EXPECT_EQ(LevelOfReal(DType::kQint8, range, RealOfLevel(DType::kQint8, range, level)), level);
  }
}

TEST(LevelsTest, OffsetsWrap) {
  const uint8_t levels[] = {0, 255};
  int32_t out[2];
  TestWork work;
  ASSERT_TRUE(WidenLevels(work, DType::kQuint8, 2, -int64_t{1} << 31, levels, out).ok());
  EXPECT_EQ(out[0], std::numeric_limits<int32_t>::min());
  EXPECT_EQ(out[1], std::numeric_limits<int32_t>::min() + 255);
}

TEST(LevelsTest, TypesThatAreNoLevels) {
  const float x = 0;
  int32_t out = 0;
  TestWork work;
  const QuantizeGrid grid = MakeQuantizeGrid({}, DType::kQint8, {-1, 1}, 0);
  EXPECT_EQ(Quantize(work, DType::kInt8, {}, &grid, &x, &out).code(), Code::kUnimplemented);
  EXPECT_EQ(WidenLevels(work, DType::kFloat, 1, 0, &x, &out).code(), Code::kUnimplemented);
  EXPECT_EQ(AveragePoolLevels(work, DType::kQint32, {}, &out, &out).code(), Code::kUnimplemented);
}

TEST(RequantizeTest, ExtremesAndEmptyRanges) {
  const int32_t levels[] = {std::numeric_limits<int32_t>::min(), 0,
                            std::numeric_limits<int32_t>::max()};
  uint8_t out[3];
  TestWork work;
  ASSERT_TRUE(Requantize(work, 3, {-1e6f, 1e6f}, levels, DType::kQuint8, {0, 1}, out).ok());
  EXPECT_EQ(out[0], 0);
  EXPECT_EQ(out[2], 255);
  ASSERT_TRUE(Requantize(work, 3, {-1, 1}, levels, DType::kQuint8, {5, 5}, out).ok());
  for (const uint8_t level : out) EXPECT_EQ(level, 0);
  const RealRange none = UsedRange(0, nullptr, {-3, 7});
  EXPECT_EQ(none.high, -3);
}

TEST(LevelNormTest, AnImageOfOneLevelHasNoVariance) {
  const std::vector<uint8_t> levels(8, 200);
  std::vector<float> reals(8, NAN);
  TestWork work;
  const InstanceShape shape{.batch = 2, .pixels = 2, .channels = 2};
  ASSERT_TRUE(NormalizeInstances(work, shape, {0, 1}, 1e-5f, levels.data(), reals.data()).ok());
  for (const float x : reals) EXPECT_EQ(x, 0);
  const RealRange range = RangeOf(0, nullptr, 0.5f);
  EXPECT_EQ(range.low, 0);
  EXPECT_GE(range.high - range.low, 0.5f);
}

}  // namespace
}  // namespace thalweg::compute
