// SPDX-License-Identifier: Apache-2.0
// What summaries hold of tensors that are empty, infinite or no numbers at all.
#include <gtest/gtest.h>

#include <cmath>

#include "thalweg/compute/summary/histogram.h"
#include "thalweg/compute/summary/image_bytes.h"
#include "thalweg/compute/summary/number_counts.h"
#include "thalweg/compute/summary/png.h"
#include "thalweg/compute/test_work.h"

namespace thalweg::compute {
namespace {

TEST(HistogramTest, NothingAndExtremes) {
  TestWork work;
  const auto none = HistogramOf(work, DType::kFloat, nullptr, 0);
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(none->num, 0);
  EXPECT_GT(none->min, none->max);
  const double extremes[] = {-1.7e308, 0, 1e-300, 1.7e308};
  const auto all = HistogramOf(work, DType::kDouble, extremes, 4);
  ASSERT_TRUE(all.ok());
  double counted = 0;
  for (const double count : all->counts) counted += count;
  EXPECT_EQ(counted, 4);
  EXPECT_EQ(all->limits.size(), all->counts.size());
}

TEST(HistogramTest, SaysWhatIsNoNumber) {
  TestWork work;
  const float nan = NAN, infinite = -INFINITY;
  EXPECT_EQ(HistogramOf(work, DType::kFloat, &nan, 1).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(HistogramOf(work, DType::kFloat, &infinite, 1).status().code(), Code::kInvalidArgument);
}

TEST(HistogramTest, StopsWhenItIsCancelled) {
  TestWork work;
  work.cancel = true;
  const std::vector<float> values(1 << 16, 1.5f);
  EXPECT_EQ(HistogramOf(work, DType::kFloat, values.data(), 1 << 16).status().code(),
            Code::kCancelled);
}

TEST(ImageBytesTest, BadPixelsGetTheirColor) {
  const float image[] = {0, 2, INFINITY, 1, NAN, 0};  // three pixels of two channels
  const uint8_t bad[] = {7, 8};
  std::vector<uint8_t> bytes(6);
  ASSERT_TRUE(ImageBytes(DType::kFloat, image, bad, bytes).ok());
  EXPECT_EQ(bytes, (std::vector<uint8_t>{0, 255, 7, 8, 7, 8}));
  const float zeros[2] = {};
  std::vector<uint8_t> black(2, 9);
  ASSERT_TRUE(ImageBytes(DType::kFloat, zeros, bad, black).ok());
  EXPECT_EQ(black, (std::vector<uint8_t>{0, 0}));
}

TEST(NumberCountsTest, OnlyBadNumbers) {
  const float x[] = {NAN, INFINITY, -INFINITY};
  const NumberCounts c = CountNumbers(DType::kFloat, x, 3, -INFINITY, INFINITY);
  EXPECT_EQ(c.size, 3);
  EXPECT_EQ(c.nan, 1);
  EXPECT_EQ(c.below, 1);
  EXPECT_EQ(c.above, 1);
  EXPECT_EQ(c.min, INFINITY);
  EXPECT_TRUE(std::isnan(c.mean));
  EXPECT_EQ(CountNumbers(DType::kString, x, 3, 0, 1).size, 3);
}

TEST(NumberCountsTest, VarianceOfCloseNumbersDoesNotCancel) {
  const double x[] = {1e9 + 1, 1e9 + 2, 1e9 + 3};
  EXPECT_NEAR(CountNumbers(DType::kDouble, x, 3, -INFINITY, INFINITY).variance, 2.0 / 3, 1e-6);
}

TEST(PngTest, RefusesWhatIsNoImage) {
  const uint8_t pixel[] = {1, 2, 3, 4};
  EXPECT_TRUE(EncodePng({.width = 1, .height = 1, .channels = 4}, pixel).ok());
  for (const PngSize& bad : {PngSize{0, 1, 3}, {1, 0, 3}, {1, 1, 2}, {int64_t{1} << 40, 1, 1}}) {
    EXPECT_EQ(EncodePng(bad, std::span(pixel, 0)).status().code(), Code::kInvalidArgument);
  }
}

}  // namespace
}  // namespace thalweg::compute
