// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/conv/conv2d_bfloat16.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "thalweg/compute/gemm/test_bfloat16_units.h"
#include "thalweg/compute/test_work.h"

namespace thalweg::compute {
namespace {

struct BlockLayer {
  int64_t batch, height, width, in, filter_height, filter_width, out, stride_h, stride_w,
      dilation_h, dilation_w;
  Padding padding;

  Conv2DShape Shape() const {
    return {batch, *MakeWindow(height, filter_height, stride_h, dilation_h, padding, 1, 2),
            *MakeWindow(width, filter_width, stride_w, dilation_w, padding, 2, 0), in, out};
  }
};

// Several passes over channels and over pixels, more columns than one block of sums, taps that no
// pixel sees, strides that leave a rest, rows of windows of few channels.
constexpr BlockLayer kBlockLayers[] = {
    {2, 9, 8, 40, 3, 3, 33, 1, 1, 1, 1, Padding::kSame},
    {1, 12, 11, 32, 3, 2, 70, 2, 3, 1, 1, Padding::kValid},
    {2, 10, 13, 24, 3, 3, 35, 2, 2, 2, 1, Padding::kExplicit},
    {1, 12, 11, 48, 3, 3, 25, 1, 1, 2, 3, Padding::kSame},
    {3, 7, 7, 64, 1, 1, 24, 2, 2, 1, 1, Padding::kSame},
    {1, 6, 8, 30, 2, 2, 32, 5, 6, 1, 1, Padding::kSame},
    {1, 40, 40, 100, 3, 3, 40, 1, 1, 1, 1, Padding::kSame},
    {1, 4, 4, 33, 3, 3, 530, 1, 1, 1, 1, Padding::kSame},
    {1, 4, 4, 130, 3, 3, 530, 1, 1, 1, 1, Padding::kSame},
    {2, 23, 23, 3, 7, 7, 24, 2, 2, 1, 1, Padding::kSame},
    {1, 9, 14, 5, 3, 4, 40, 1, 3, 2, 1, Padding::kExplicit},
    {2, 11, 10, 3, 3, 3, 30, 2, 4, 1, 1, Padding::kValid},
};

struct Bfloat16Operands {
  explicit Bfloat16Operands(const Conv2DShape& s)
      : x(RandomValues<Bfloat16>(s.batch * s.InPixels() * s.in_channels)),
        f(RandomValues<Bfloat16>(s.Taps() * s.in_channels * s.out_channels, -1, 1, 2)),
        g(RandomValues<Bfloat16>(s.batch * s.OutPixels() * s.out_channels, -1, 1, 3)),
        bias(RandomValues<Bfloat16>(s.out_channels, -1, 1, 4)) {}
  const std::vector<Bfloat16> x, f, g, bias;
};

// What is to be written is not a number beforehand.
std::vector<Bfloat16> Unwritten(size_t n) { return {n, Bfloat16(std::nanf(""))}; }

std::vector<float> WidenedValues(const std::vector<Bfloat16>& values) {
  return {values.begin(), values.end()};
}

// Rounded once, from sums of float in another order.
void ExpectRounded(const std::vector<Bfloat16>& actual, const std::vector<float>& expected,
                   const char* what) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(static_cast<float>(actual[i]), expected[i], std::abs(expected[i]) / 256 + 3e-4)
        << what << " at " << i;
  }
}

TEST(Bfloat16ConvTest, AgreesWithFloatRoundedOnce) {
  for (Bfloat16Unit unit : TestBfloat16Units()) {
    for (const BlockLayer& layer : kBlockLayers) {
      const Conv2DShape s = layer.Shape();
      SCOPED_TRACE(testing::Message() << "unit " << static_cast<int>(unit) << " in " << layer.in
                                      << " out " << layer.out << " height " << layer.height);
      ASSERT_TRUE(IsForBfloat16Blocks(unit, s));
      const Bfloat16Operands of(s);
      const auto x = WidenedValues(of.x), f = WidenedValues(of.f), g = WidenedValues(of.g),
                 bias = WidenedValues(of.bias);
      std::vector<float> y = g, dx(x.size()), df(f.size());
      auto y16 = of.g, dx16 = Unwritten(dx.size()), df16 = Unwritten(df.size());
      TestWork work(BestIsaLevel(), 2);
      constexpr DType kFloat = DType::kFloat;
      ASSERT_TRUE(
          Conv2D(work, kFloat, s, x.data(), f.data(), y.data(), {bias.data(), y.data(), true})
              .ok());
      ASSERT_TRUE(Conv2DBackwardInput(work, kFloat, s, f.data(), g.data(), dx.data()).ok());
      ASSERT_TRUE(Conv2DBackwardFilter(work, kFloat, s, x.data(), g.data(), df.data()).ok());
      const void *x16 = of.x.data(), *f16 = of.f.data(), *g16 = of.g.data();
      ASSERT_TRUE(Bfloat16ConvForward(work, unit, s, x16, f16, y16.data(),
                                      {of.bias.data(), y16.data(), true})
                      .ok());
      ASSERT_TRUE(Bfloat16ConvBackwardInput(work, unit, s, f16, g16, dx16.data()).ok());
      ASSERT_TRUE(Bfloat16ConvBackwardFilter(work, unit, s, x16, g16, df16.data()).ok());
      ExpectRounded(y16, y, "output");
      ExpectRounded(dx16, dx, "input gradient");
      ExpectRounded(df16, df, "filter gradient");
    }
  }
}

TEST(Bfloat16ConvTest, SameBitsForEveryThreadCount) {
  const Conv2DShape s = BlockLayer{3, 30, 31, 70, 3, 3, 65, 1, 1, 1, 1, Padding::kSame}.Shape();
  const Bfloat16Operands of(s);
  for (Bfloat16Unit unit : TestBfloat16Units()) {
    std::vector<std::vector<Bfloat16>> results;
    for (int threads : {1, 3}) {
      TestWork work(BestIsaLevel(), threads);
      auto y = of.g, dx = of.x, df = of.f;
      const void *x = of.x.data(), *f = of.f.data(), *g = of.g.data();
      ASSERT_TRUE(Bfloat16ConvForward(work, unit, s, x, f, y.data(), {}).ok());
      ASSERT_TRUE(Bfloat16ConvBackwardInput(work, unit, s, f, g, dx.data()).ok());
      ASSERT_TRUE(Bfloat16ConvBackwardFilter(work, unit, s, x, g, df.data()).ok());
      for (auto* result : {&y, &dx, &df}) results.push_back(*result);
    }
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(std::memcmp(results[i].data(), results[i + 3].data(), 2 * results[i].size()), 0);
    }
  }
}

TEST(Bfloat16ConvTest, RefusedScratchAndCancelAreErrors) {
  const Conv2DShape s = kBlockLayers[0].Shape();
  const Bfloat16Operands of(s);
  for (Bfloat16Unit unit : TestBfloat16Units()) {
    TestWork work;
    auto y = of.g, dx = of.x, df = of.f;
    const auto expect = [&](Code code) {
      const void *x = of.x.data(), *f = of.f.data(), *g = of.g.data();
      EXPECT_EQ(Bfloat16ConvForward(work, unit, s, x, f, y.data(), {}).code(), code);
      EXPECT_EQ(Bfloat16ConvBackwardInput(work, unit, s, f, g, dx.data()).code(), code);
      EXPECT_EQ(Bfloat16ConvBackwardFilter(work, unit, s, x, g, df.data()).code(), code);
    };
    work.refuse_scratch = true;
    expect(Code::kResourceExhausted);
    work.refuse_scratch = false;
    work.cancel = true;
    expect(Code::kCancelled);
  }
}

TEST(Bfloat16ConvTest, FewChannelsAndEmptyOperandsAreNotForBlocks) {
  const auto is_for = [](const BlockLayer& layer) {
    return IsForBfloat16Blocks(Bfloat16Unit::kPairs, layer.Shape());
  };
  EXPECT_TRUE(is_for({1, 9, 9, 24, 3, 3, 24, 1, 1, 1, 1, Padding::kSame}));
  EXPECT_FALSE(is_for({1, 9, 9, 24, 3, 3, 23, 1, 1, 1, 1, Padding::kSame}));
  EXPECT_FALSE(is_for({1, 9, 9, 23, 3, 3, 24, 1, 1, 1, 2, Padding::kSame}));
  EXPECT_FALSE(is_for({1, 9, 9, 2, 3, 3, 24, 1, 1, 1, 1, Padding::kSame}));
  EXPECT_FALSE(is_for({0, 9, 9, 24, 3, 3, 24, 1, 1, 1, 1, Padding::kSame}));
  EXPECT_FALSE(IsForBfloat16Blocks(Bfloat16Unit::kNone, kBlockLayers[0].Shape()));
  Conv2DShape padded = kBlockLayers[9].Shape();
  EXPECT_TRUE(IsForBfloat16Blocks(Bfloat16Unit::kPairs, padded));
  padded.columns = *MakeWindow(1, 7, 500, 1, Padding::kExplicit, 500, 500);
  EXPECT_FALSE(IsForBfloat16Blocks(Bfloat16Unit::kPairs, padded));
}

}  // namespace
}  // namespace thalweg::compute
