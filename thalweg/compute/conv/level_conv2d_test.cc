// SPDX-License-Identifier: Apache-2.0
// Convolutions of levels beside those of the same integers as int32.
#include "thalweg/compute/conv/level_conv2d.h"

#include <gtest/gtest.h>

#include "thalweg/compute/quantized/levels.h"
#include "thalweg/compute/test_work.h"

namespace thalweg::compute {
namespace {

struct Windowed {
  int64_t input, size, stride, dilation;
  Padding padding;
  int64_t before = 0, after = 0;
};

class LevelConv2DTest : public testing::TestWithParam<Windowed> {};

// Both operands of one type; a filter of unsigned levels has its zero 128 higher.
void ExpectThatOfTheSameIntegers(const Windowed& w, int64_t channels, int64_t filter_zero) {
  Conv2DShape shape{.batch = 2, .in_channels = channels, .out_channels = 37};
  shape.rows = *MakeWindow(w.input, w.size, w.stride, w.dilation, w.padding, w.before, w.after);
  shape.columns = *MakeWindow(w.input + 2, w.size, 1, w.dilation, w.padding, w.after, w.before);
  std::mt19937 random(1);
  std::vector<uint8_t> levels(static_cast<size_t>(2 * shape.InPixels() * channels));
  std::vector<uint8_t> weights(static_cast<size_t>(shape.Taps() * channels * 37));
  for (uint8_t& level : levels) level = static_cast<uint8_t>(random());
  for (uint8_t& level : weights) level = static_cast<uint8_t>(random());
  for (const DType dtype : {DType::kQuint8, DType::kQint8}) {
    const LevelMatrix x{.dtype = dtype, .levels = levels.data(), .zero = 100};
    const int64_t shift = dtype == DType::kQuint8 ? 128 : 0;
    const LevelMatrix filter{.dtype = dtype, .levels = weights.data(), .zero = filter_zero + shift};
    ASSERT_TRUE(HasLevelConv2D(shape, x));
    TestWork work(BestIsaLevel(), 2);
    std::vector<int32_t> wide_x(levels.size()), wide_filter(weights.size());
    for (const auto& [from, to] : {std::pair{&x, &wide_x}, std::pair{&filter, &wide_filter}}) {
      ASSERT_TRUE(WidenLevels(work, from->dtype, static_cast<int64_t>(to->size()), from->zero,
                              from->levels, to->data())
                      .ok());
    }
    std::vector<int32_t> expected(static_cast<size_t>(2 * shape.OutPixels() * 37));
    std::vector<int32_t> sums(expected.size(), -1);
    ASSERT_TRUE(
        Conv2D(work, DType::kInt32, shape, wide_x.data(), wide_filter.data(), expected.data())
            .ok());
    ASSERT_TRUE(LevelConv2D(work, shape, x, filter, sums.data()).ok());
    EXPECT_EQ(sums, expected);
  }
}

TEST_P(LevelConv2DTest, IsThatOfTheSameIntegers) { ExpectThatOfTheSameIntegers(GetParam(), 3, -7); }

// Windows of whole steps, of vectors or of tiles, whose filter has no zero, are read where they
// lie.
TEST_P(LevelConv2DTest, InPlaceIsThatOfTheSameIntegers) {
  for (const int64_t channels : {4, 12, 64, 128})
    ExpectThatOfTheSameIntegers(GetParam(), channels, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Windows, LevelConv2DTest,
    testing::Values(Windowed{7, 1, 1, 1, Padding::kValid}, Windowed{7, 1, 2, 1, Padding::kValid},
                    Windowed{9, 3, 1, 1, Padding::kSame}, Windowed{9, 3, 2, 1, Padding::kSame},
                    Windowed{9, 3, 1, 2, Padding::kSame}, Windowed{3, 5, 1, 3, Padding::kSame},
                    Windowed{4, 3, 1, 1, Padding::kExplicit, 5, 6},
                    Windowed{6, 1, 1, 1, Padding::kExplicit, 2, 0},
                    Windowed{13, 4, 3, 1, Padding::kValid}));

TEST(LevelConv2DSupportTest, GroupsAndZerosThatAreNoLevelsAreForOthers) {
  Conv2DShape shape{.in_channels = 4, .out_channels = 4};
  const auto has = [&](DType dtype, int64_t zero) {
    return HasLevelConv2D(shape, {.dtype = dtype, .zero = zero});
  };
  EXPECT_TRUE(has(DType::kQuint8, 255));
  EXPECT_FALSE(has(DType::kQuint8, 256));
  EXPECT_FALSE(has(DType::kQuint8, -1));
  EXPECT_TRUE(has(DType::kQint8, -128));
  EXPECT_FALSE(has(DType::kQint8, 128));
  shape.groups = 2;
  EXPECT_FALSE(has(DType::kQint8, 0));
}

}  // namespace
}  // namespace thalweg::compute
