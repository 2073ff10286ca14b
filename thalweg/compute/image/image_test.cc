// SPDX-License-Identifier: Apache-2.0
// Loops over images at the edges of what they take: one pixel, refused scratch, no such type.
#include <gtest/gtest.h>

#include <numeric>

#include "thalweg/compute/image/crop.h"
#include "thalweg/compute/image/resample.h"
#include "thalweg/compute/image/resize.h"
#include "thalweg/compute/image/suppress.h"
#include "thalweg/compute/test_work.h"

namespace thalweg::compute {
namespace {

void ExpectMean(const Taps& taps) {
  for (int64_t i = 0; i < taps.out(); ++i) {
    const auto begin = taps.weight.begin();
    EXPECT_NEAR(std::accumulate(begin + taps.first[i], begin + taps.first[i + 1], 0.0), 1, 1e-5);
  }
}

TEST(TapsTest, OnePixelToManyAndManyToOne) {
  for (const auto& [in, out] : {std::pair{1, 1}, {1, 7}, {7, 1}, {2, 3}}) {
    for (const bool align : {false, true}) {
      const auto area = AreaTaps(in, out, align), cubic = CubicTaps(in, out, align, false);
      ASSERT_TRUE(area.ok() && cubic.ok());
      EXPECT_EQ(area->out(), out);
      EXPECT_EQ(cubic->out(), out);
      ExpectMean(*cubic);
      for (const int64_t from : cubic->from) EXPECT_TRUE(from >= 0 && from < in) << in << out;
    }
  }
}

TEST(TapsTest, MoreWeightsThanMemoryShouldHold) {
  const auto taps = KernelTaps(int64_t{1} << 30, 1, {.kernel = "box"});
  EXPECT_EQ(taps.status().code(), Code::kResourceExhausted);
}

TEST(TapsTest, TransposedTwiceIsTheSame) {
  const auto taps = KernelTaps(5, 3, {.scale = 0.6f});
  ASSERT_TRUE(taps.ok());
  const Taps back = taps->Transposed().Transposed();
  EXPECT_EQ(back.in, taps->in);
  EXPECT_EQ(back.first, taps->first);
  EXPECT_EQ(back.from, taps->from);
  EXPECT_EQ(back.weight, taps->weight);
}

TEST(ResampleTest, RefusedScratchAndTypes) {
  const auto taps = CubicTaps(2, 2, false, true);
  ASSERT_TRUE(taps.ok());
  const std::vector<float> in(4, 1);
  std::vector<float> out(4);
  TestWork work;
  EXPECT_TRUE(Resample(work, DType::kFloat, 1, 1, *taps, *taps, in.data(), out.data()).ok());
  for (const float x : out) EXPECT_NEAR(x, 1, 1e-6);
  EXPECT_EQ(Resample(work, DType::kString, 1, 1, *taps, *taps, in.data(), out.data()).code(),
            Code::kUnimplemented);
  work.refuse_scratch = true;
  EXPECT_EQ(Resample(work, DType::kFloat, 1, 1, *taps, *taps, in.data(), out.data()).code(),
            Code::kResourceExhausted);
}

TEST(ResizeTest, OnePixelFillsTheImage) {
  const ResizeShape shape{.out_rows = 3, .out_columns = 5, .channels = 2};
  const std::vector<uint8_t> in{7, 200};
  std::vector<float> out(30);
  TestWork work;
  ASSERT_TRUE(ResizeBilinear(work, DType::kUint8, shape, in.data(), out.data()).ok());
  for (size_t i = 0; i < out.size(); ++i) EXPECT_EQ(out[i], in[i % 2]);
  EXPECT_EQ(ResizeBilinear(work, DType::kComplex64, shape, in.data(), out.data()).code(),
            Code::kUnimplemented);
}

// Channels that are computed at once are those that are computed one by one; nothing is read or
// written beyond either picture.
TEST(ResizeTest, ThreeChannelsOfBytesAreResizedAsFloats) {
  TestWork work;
  for (const ResizeShape& shape :
       {ResizeShape{.batch = 2, .rows = 5, .columns = 7, .out_rows = 9, .out_columns = 11},
        ResizeShape{.batch = 2, .rows = 9, .columns = 40, .out_rows = 3, .out_columns = 6},
        ResizeShape{
            .rows = 4, .columns = 9, .out_rows = 6, .out_columns = 9, .align_corners = true},
        ResizeShape{
            .rows = 3, .columns = 8, .out_rows = 7, .out_columns = 29, .half_pixel_centers = true},
        ResizeShape{.rows = 1, .columns = 1, .out_rows = 2, .out_columns = 2}}) {
    ResizeShape s = shape;
    s.channels = 3;
    std::vector<uint8_t> bytes(static_cast<size_t>(s.batch * s.rows * s.columns * 3));
    uint32_t state = 1;
    for (uint8_t& byte : bytes)
      byte = static_cast<uint8_t>((state = state * 1664525 + 1013904223) >> 24);
    const std::vector<float> floats(bytes.begin(), bytes.end());
    const auto size = static_cast<size_t>(s.batch * s.out_rows * s.out_columns * 3);
    std::vector<float> from_bytes(size), from_floats(size);
    ASSERT_TRUE(ResizeBilinear(work, DType::kUint8, s, bytes.data(), from_bytes.data()).ok());
    ASSERT_TRUE(ResizeBilinear(work, DType::kFloat, s, floats.data(), from_floats.data()).ok());
    EXPECT_EQ(from_bytes, from_floats) << s.columns << " to " << s.out_columns;
  }
}

TEST(ResizeTest, GradientOfNearestAsksForItsSums) {
  const ResizeShape shape{.rows = 2, .columns = 2, .out_rows = 4, .out_columns = 4};
  const std::vector<Half> grads(16, FromDouble<Half>(1));
  std::vector<Half> out(4);
  TestWork work;
  ASSERT_TRUE(ResizeNearestGrad(work, DType::kHalf, shape, grads.data(), out.data()).ok());
  for (const Half x : out) EXPECT_EQ(ToDouble(x), 4);
  work.refuse_scratch = true;
  EXPECT_EQ(ResizeNearestGrad(work, DType::kHalf, shape, grads.data(), out.data()).code(),
            Code::kResourceExhausted);
}

TEST(BoxOverlapTest, BoxesWithoutAreaOverlapNothing) {
  const float line[4] = {0, 0, 0, 1}, box[4] = {0, 0, 1, 1}, turned[4] = {1, 1, 0, 0};
  EXPECT_EQ(BoxOverlap(line, line), 0);
  EXPECT_EQ(BoxOverlap(line, box), 0);
  EXPECT_EQ(BoxOverlap(box, turned), 1);
}

TEST(CropTest, NoBoxesAndNoSuchType) {
  const CropShape shape{.images = 1, .rows = 1, .columns = 1, .channels = 1};
  TestWork work;
  EXPECT_TRUE(CropAndResize(work, DType::kFloat, shape, nullptr, nullptr, nullptr, nullptr).ok());
  EXPECT_EQ(CropAndResize(work, DType::kBool, shape, nullptr, nullptr, nullptr, nullptr).code(),
            Code::kUnimplemented);
}

}  // namespace
}  // namespace thalweg::compute
