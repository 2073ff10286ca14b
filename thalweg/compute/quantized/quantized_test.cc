// SPDX-License-Identifier: Apache-2.0
// Levels at the ends of their types: what does not fit, what is no number, ranges without width.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "thalweg/compute/quantized/level_norm.h"
#include "thalweg/compute/quantized/level_sums.h"
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

// Element by element, as levels.h says.
double ExpectedLevel(const QuantizeGrid& grid, float x, double lowest, double highest) {
  const auto [low, high] = grid.range;
  double level = 0;
  if (grid.rule.mode == QuantizeMode::kMinCombined) {
    const float half = lowest < 0 ? static_cast<float>((highest - lowest + 1) / 2) : 0;
    level = std::round((std::clamp(x, low, high) - low) * grid.scale - half);
  } else if (grid.rule.mode == QuantizeMode::kMinFirst) {
    level = static_cast<double>(std::round(x * grid.scale) - std::round(low * grid.scale)) + lowest;
  } else {
    const float scaled = std::clamp(x, low, high) * grid.scale;
    level = grid.rule.half_to_even ? std::nearbyint(scaled) : std::round(scaled);
  }
  return std::clamp(level, lowest, highest);
}

// Tens of levels, ties among them, in numbers that fill no vector.
TEST(LevelsTest, EveryInstructionSetGivesTheSameLevelsAndReals) {
  std::vector<float> x;
  for (int i = -300; i < 303; ++i) x.push_back(static_cast<float>(i) / 128);
  const auto n = static_cast<int64_t>(x.size());
  const auto check = [&]<class T>(DType dtype, QuantizeRule rule) {
    const QuantizeGrid grid = MakeQuantizeGrid(rule, dtype, {-1, 0.9921875f}, 0);
    for (const IsaLevel level : TestLevels()) {
      TestWork work(level, 2);
      std::vector<T> levels(x.size());
      ASSERT_TRUE(Quantize(work, dtype, {.inner = n}, &grid, x.data(), levels.data()).ok());
      std::vector<float> reals(x.size());
      ASSERT_TRUE(
          Dequantize(work, dtype, rule, {.inner = n}, &grid.range, levels.data(), reals.data())
              .ok());
      for (size_t i = 0; i < x.size(); ++i) {
        ASSERT_EQ(static_cast<double>(levels[i]),
                  ExpectedLevel(grid, x[i], std::numeric_limits<T>::lowest(),
                                std::numeric_limits<T>::max()))
            << x[i] << " at " << IsaLevelName(level) << ", mode " << static_cast<int>(rule.mode);
        if (x[i] >= grid.range.low && x[i] <= grid.range.high) {
          ASSERT_NEAR(reals[i], x[i], 1 / grid.scale + 1e-6f) << static_cast<int>(dtype);
        }
      }
    }
  };
  for (const QuantizeRule rule :
       {QuantizeRule{QuantizeMode::kMinCombined}, QuantizeRule{QuantizeMode::kMinFirst},
        QuantizeRule{QuantizeMode::kScaled}, QuantizeRule{QuantizeMode::kScaled, true}}) {
    check.operator()<int8_t>(DType::kQint8, rule);
    check.operator()<uint8_t>(DType::kQuint8, rule);
    check.operator()<int16_t>(DType::kQint16, rule);
    check.operator()<int32_t>(DType::kQint32, rule);
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

// Rows that are longer than a tile's, or so short that many are taken as one; from memory and from
// tiles, at every level of instructions.
TEST(LevelSumsTest, EveryChannelHasItsOwnScaleShiftAndSummand) {
  for (const int64_t channels : {1, 3, 32, 40, 1500}) {
    const int64_t rows = 45'000 / channels;
    std::vector<float> scales, shifts;
    for (int64_t c = 0; c < channels; ++c) {
      scales.push_back(0.25f + static_cast<float>(c) / 4096);
      shifts.push_back(static_cast<float>(c % 7) - 3.5f);
    }
    std::vector<int32_t> levels;
    std::vector<uint8_t> summand;
    for (int64_t i = 0; i < rows * channels; ++i) {
      levels.push_back(static_cast<int32_t>(i % 1201 - 600));
      summand.push_back(static_cast<uint8_t>(i));
    }
    for (int forms = 0; forms < 8; ++forms) {
      RequantizeRule rule{.channels = channels,
                          .scales = scales.data(),
                          .shifts = shifts.data(),
                          .summand_type = (forms & 1) != 0 ? DType::kQint8 : DType::kQuint8,
                          .summand = summand.data(),
                          .summand_scale = 0.5f,
                          .relu = (forms & 2) != 0};
      const DType to = (forms & 4) != 0 ? DType::kQint8 : DType::kQuint8;
      const double least = to == DType::kQint8 && !rule.relu ? -128 : 0;
      for (const IsaLevel level : TestLevels()) {
        TestWork work(level, 2);
        std::vector<uint8_t> out(levels.size());
        const RequantizedSums sums(work.isa(), rule, to, out.data());
        ASSERT_TRUE(TakeSums(work, rows, channels, levels.data(), sums).ok());
        for (size_t i = 0; i < out.size(); ++i) {
          const size_t c = i % scales.size();
          const double other =
              (forms & 1) != 0 ? static_cast<int8_t>(summand[i]) : static_cast<int>(summand[i]);
          const double expected =
              std::clamp(std::nearbyint(levels[i] * static_cast<double>(scales[c]) + other * 0.5 +
                                        static_cast<double>(shifts[c])),
                         least, to == DType::kQint8 ? 127.0 : 255.0);
          ASSERT_EQ(out[i], static_cast<uint8_t>(static_cast<int>(expected)))
              << "element " << i << " of " << channels << " channels, forms " << forms;
        }
      }
    }
  }
}

// What a product gives a tile at a time is what follows from its sums.
TEST(LevelSumsTest, TilesOfAProductGiveWhatItsSumsGive) {
  for (const ProductSize& size : {ProductSize{50, 2, 8}, {97, 33, 12}, {13, 64, 5}, {3, 40, 0}}) {
    std::vector<uint8_t> a(static_cast<size_t>(size.m * size.k) + 1);
    std::vector<uint8_t> b(static_cast<size_t>(size.k * size.n) + 1);
    for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<uint8_t>(i * 37);
    for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<uint8_t>(i * 91);
    const std::vector<float> scales(static_cast<size_t>(size.n), 0.001f);
    std::vector<float> shifts(scales.size());
    for (size_t i = 0; i < shifts.size(); ++i) shifts[i] = static_cast<float>(i);
    const auto elements = static_cast<size_t>(size.m * size.n);
    for (const IsaLevel level : TestLevels()) {
      TestWork work(level, 2);
      std::vector<uint8_t> tiled(elements), taken(elements);
      std::vector<float> real_tiled(elements), real_taken(elements);
      std::vector<int32_t> sums(elements, -1);
      const LevelMatrix left{.dtype = DType::kQuint8, .levels = a.data(), .zero = 3},
          right{.levels = b.data()};
      const RequantizeRule rule{
          .channels = size.n, .scales = scales.data(), .shifts = shifts.data()};
      const auto to = [&](std::vector<uint8_t>& out) {
        return RequantizedSums(work.isa(), rule, DType::kQuint8, out.data());
      };
      const auto to_reals = [&](std::vector<float>& out) {
        return RealSums(work.isa(), size.n, 0.5f, shifts.data(), out.data());
      };
      ASSERT_TRUE(LevelProduct(work, size, left, right, sums.data()).ok());
      ASSERT_TRUE(LevelProduct(work, size, left, right, to(tiled)).ok());
      ASSERT_TRUE(LevelProduct(work, size, left, right, to_reals(real_tiled)).ok());
      ASSERT_TRUE(TakeSums(work, size.m, size.n, sums.data(), to(taken)).ok());
      ASSERT_TRUE(TakeSums(work, size.m, size.n, sums.data(), to_reals(real_taken)).ok());
      EXPECT_EQ(tiled, taken);
      EXPECT_EQ(real_tiled, real_taken);
      for (size_t i = 0; i < elements; ++i) {
        EXPECT_EQ(real_tiled[i], static_cast<float>(sums[i]) * 0.5f + shifts[i % shifts.size()]);
      }
    }
  }
}

TEST(LevelSumsTest, NoNumberIsTheLowestLevel) {
  const float scale = NAN, shift = 0;
  const int32_t sum = 5;
  TestWork work;
  for (const DType dtype : {DType::kQint8, DType::kQuint8}) {
    uint8_t level = 1;
    const RequantizedSums to(work.isa(), {.scales = &scale, .shifts = &shift}, dtype, &level);
    ASSERT_TRUE(TakeSums(work, 1, 1, &sum, to).ok());
    EXPECT_EQ(level, dtype == DType::kQint8 ? 0x80 : 0);
  }
}

TEST(RequantizeTest, NoNumberIsTheLeastThatThereMayBe) {
  const double bias = NAN;
  TestWork work;
  for (const bool relu : {false, true}) {
    int32_t level = 5;
    ASSERT_TRUE(AddBias(work, 1, {.bias = &bias, .relu = relu}, &level).ok());
    EXPECT_EQ(level, relu ? 0 : std::numeric_limits<int32_t>::min());
  }
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
