// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/conv/conv2d.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "thalweg/compute/test_work.h"

namespace thalweg::compute {
namespace {

struct Sizes {
  int64_t batch, height, width, in, filter_height, filter_width, out, stride_h, stride_w,
      dilation_h, dilation_w;
  Padding padding;
};

Conv2DShape MakeShape(const Sizes& z, bool channels_first = false) {
  const auto rows =
      MakeWindow(z.height, z.filter_height, z.stride_h, z.dilation_h, z.padding, 1, 2);
  const auto columns =
      MakeWindow(z.width, z.filter_width, z.stride_w, z.dilation_w, z.padding, 2, 0);
  EXPECT_TRUE(rows.ok() && columns.ok());
  return {z.batch, *rows, *columns, z.in, z.out, channels_first};
}

constexpr Sizes kCases[] = {
    {2, 7, 5, 3, 3, 3, 4, 1, 1, 1, 1, Padding::kSame},
    {2, 9, 8, 5, 3, 2, 7, 2, 3, 1, 1, Padding::kValid},
    {3, 8, 8, 4, 1, 1, 9, 1, 1, 1, 1, Padding::kSame},
    {1, 8, 9, 4, 1, 1, 5, 2, 2, 1, 1, Padding::kSame},
    {1, 12, 11, 2, 3, 3, 3, 1, 1, 2, 3, Padding::kSame},
    {2, 10, 13, 3, 3, 3, 35, 2, 2, 2, 1, Padding::kExplicit},
    {5, 6, 6, 40, 3, 3, 33, 1, 1, 1, 1, Padding::kSame},
    {1, 5, 5, 1, 5, 5, 1, 1, 1, 1, 1, Padding::kValid},
    {1, 3, 4, 2, 2, 2, 3, 5, 6, 1, 1, Padding::kSame},
    {2, 23, 23, 3, 7, 7, 16, 2, 2, 1, 1, Padding::kSame},
};

// A convolution and its gradients in double, straight from the definition.
struct Reference {
  template <class T>
  Reference(const Conv2DShape& s, const std::vector<T>& x, const std::vector<T>& f,
            const std::vector<T>& g)
      : output(g.size()), input_grad(x.size()), filter_grad(f.size()) {
    for (int64_t p = 0; p < s.batch * s.OutPixels(); ++p) {
      const int64_t image = p / s.OutPixels(), place = p % s.OutPixels();
      for (int64_t tap = 0; tap < s.Taps(); ++tap) {
        const int64_t u = tap / s.columns.size, v = tap % s.columns.size;
        const int64_t y =
            place / s.columns.output * s.rows.stride - s.rows.pad_before + u * s.rows.dilation;
        const int64_t z = place % s.columns.output * s.columns.stride - s.columns.pad_before +
                          v * s.columns.dilation;
        if (y < 0 || y >= s.rows.input || z < 0 || z >= s.columns.input) continue;
        const int64_t pixel = (image * s.rows.input + y) * s.columns.input + z;
        for (int64_t i = 0; i < s.in_channels; ++i) {
          for (int64_t o = 0; o < s.out_channels; ++o) {
            const int64_t in = pixel * s.in_channels + i, out = p * s.out_channels + o;
            const int64_t k = (tap * s.in_channels + i) * s.out_channels + o;
            output[out] += ToDouble(x[in]) * ToDouble(f[k]);
            input_grad[in] += ToDouble(g[out]) * ToDouble(f[k]);
            filter_grad[k] += ToDouble(x[in]) * ToDouble(g[out]);
          }
        }
      }
    }
  }
  std::vector<double> output, input_grad, filter_grad;
};

template <class T>
void ExpectNear(const std::vector<T>& actual, const std::vector<double>& expected, double tolerance,
                const char* what) {
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(ToDouble(actual[i]), expected[i], tolerance) << what << " at " << i;
  }
}

// [batch, rows, columns] to [batch, columns, rows].
template <class T>
std::vector<T> Swapped(const std::vector<T>& in, int64_t batch, int64_t rows, int64_t columns) {
  std::vector<T> out(in.size());
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < columns; ++c)
        out[(b * columns + c) * rows + r] = in[(b * rows + r) * columns + c];
    }
  }
  return out;
}

template <class T>
void CheckAll(IsaLevel level, const Sizes& sizes, bool channels_first, double tolerance,
              double range = 1) {
  const Conv2DShape s = MakeShape(sizes, channels_first);
  auto x = RandomValues<T>(s.batch * s.InPixels() * s.in_channels, -range, range, 1);
  const auto f = RandomValues<T>(s.Taps() * s.in_channels * s.out_channels, -range, range, 2);
  auto g = RandomValues<T>(s.batch * s.OutPixels() * s.out_channels, -range, range, 3);
  const Reference reference(s, x, f, g);
  std::vector<T> y(g.size()), dx(x.size()), df(f.size());
  if (channels_first) {
    x = Swapped(x, s.batch, s.InPixels(), s.in_channels);
    g = Swapped(g, s.batch, s.OutPixels(), s.out_channels);
  }
  TestWork work(level, 2);
  ASSERT_TRUE(Conv2D(work, kDTypeOf<T>, s, x.data(), f.data(), y.data()).ok());
  ASSERT_TRUE(Conv2DBackwardInput(work, kDTypeOf<T>, s, f.data(), g.data(), dx.data()).ok());
  ASSERT_TRUE(Conv2DBackwardFilter(work, kDTypeOf<T>, s, x.data(), g.data(), df.data()).ok());
  if (channels_first) {
    y = Swapped(y, s.batch, s.out_channels, s.OutPixels());
    dx = Swapped(dx, s.batch, s.in_channels, s.InPixels());
  }
  ExpectNear(y, reference.output, tolerance, "output");
  ExpectNear(dx, reference.input_grad, tolerance, "input gradient");
  ExpectNear(df, reference.filter_grad, tolerance, "filter gradient");
}

TEST(Conv2DTest, ForwardAndGradientsAgreeWithTheDefinition) {
  for (IsaLevel level : TestLevels()) {
    for (const Sizes& sizes : kCases) {
      CheckAll<float>(level, sizes, false, 3e-4);
      CheckAll<double>(level, sizes, false, 1e-11);
    }
  }
}

TEST(Conv2DTest, ChannelsFirst) {
  for (const Sizes& sizes : kCases) CheckAll<float>(BestIsaLevel(), sizes, true, 3e-4);
}

TEST(Conv2DTest, HalfTypesAndIntegers) {
  for (const Sizes& sizes : kCases) {
    CheckAll<Half>(BestIsaLevel(), sizes, false, 0.1);
    CheckAll<Bfloat16>(BestIsaLevel(), sizes, true, 0.6);
    CheckAll<int32_t>(BestIsaLevel(), sizes, false, 0, 100);
  }
}

// Which are products: all three are rounded once, whoever computes them.
TEST(Conv2DTest, OfSinglePixelsInBfloat16) {
  for (IsaLevel level : TestLevels()) {
    for (const int64_t in : {1, 4, 70}) {
      for (const int64_t out : {1, 9, 64}) {
        CheckAll<Bfloat16>(level, {3, 5, 7, in, 1, 1, out, 1, 1, 1, 1, Padding::kSame}, false,
                           0.08);
      }
    }
    CheckAll<Bfloat16>(level, {1, 8, 9, 4, 1, 1, 5, 2, 2, 1, 1, Padding::kSame}, false, 0.08);
  }
}

TEST(Conv2DTest, SameBitsForEveryThreadCountAndAtBothFmaLevels) {
  const Conv2DShape s = MakeShape({5, 14, 13, 37, 3, 3, 41, 1, 1, 1, 1, Padding::kSame});
  const auto x = RandomValues(s.batch * s.InPixels() * s.in_channels);
  const auto g = RandomValues(s.batch * s.OutPixels() * s.out_channels, -1, 1, 2);
  std::vector<std::vector<float>> results;
  for (IsaLevel level : TestLevels()) {
    if (level == IsaLevel::kSse4) continue;
    for (int threads : {1, 3}) {
      TestWork work(level, threads);
      std::vector<float> df(s.Taps() * s.in_channels * s.out_channels);
      ASSERT_TRUE(Conv2DBackwardFilter(work, DType::kFloat, s, x.data(), g.data(), df.data()).ok());
      results.push_back(df);
    }
  }
  for (const auto& result : results) EXPECT_EQ(result, results[0]);
}

TEST(Conv2DTest, EpilogueInTheSamePass) {
  const Conv2DShape s = MakeShape({2, 9, 9, 40, 3, 3, 35, 1, 1, 1, 1, Padding::kSame});
  const auto x = RandomValues(s.batch * s.InPixels() * 40), f = RandomValues(9 * 40 * 35, -1, 1, 2);
  const auto bias = RandomValues(35, -3, 3, 3),
             residual = RandomValues(s.batch * s.OutPixels() * 35, -3, 3, 4);
  std::vector<float> plain(residual.size()), fused = residual;
  TestWork work;
  ASSERT_TRUE(Conv2D(work, DType::kFloat, s, x.data(), f.data(), plain.data()).ok());
  ASSERT_TRUE(Conv2D(work, DType::kFloat, s, x.data(), f.data(), fused.data(),
                     {bias.data(), fused.data(), true})
                  .ok());
  for (size_t i = 0; i < plain.size(); ++i) {
    ASSERT_NEAR(fused[i], std::max(0.0f, plain[i] + bias[i % 35] + residual[i]), 1e-4);
  }
}

TEST(Conv2DTest, EmptyOperands) {
  TestWork work;
  Conv2DShape s = MakeShape({1, 4, 4, 0, 3, 3, 2, 1, 1, 1, 1, Padding::kSame});
  std::vector<float> y(32, 7), f(18, 7);
  ASSERT_TRUE(Conv2D(work, DType::kFloat, s, nullptr, nullptr, y.data()).ok());
  EXPECT_EQ(y, std::vector<float>(32));
  s = MakeShape({0, 4, 4, 1, 3, 3, 2, 1, 1, 1, 1, Padding::kSame});
  ASSERT_TRUE(Conv2D(work, DType::kFloat, s, nullptr, f.data(), nullptr).ok());
  ASSERT_TRUE(Conv2DBackwardInput(work, DType::kFloat, s, f.data(), nullptr, nullptr).ok());
  ASSERT_TRUE(Conv2DBackwardFilter(work, DType::kFloat, s, nullptr, nullptr, f.data()).ok());
  EXPECT_EQ(f, std::vector<float>(18));
}

TEST(Conv2DTest, RefusedScratchIsAnError) {
  const Conv2DShape s = MakeShape(kCases[5]);
  const std::vector<float> x(10000), f(10000);
  std::vector<float> y(100000);
  TestWork work;
  work.refuse_scratch = true;
  EXPECT_EQ(Conv2D(work, DType::kFloat, s, x.data(), f.data(), y.data()).code(),
            Code::kResourceExhausted);
}

TEST(WindowTest, PaddingAsTensorFlowComputesIt) {
  const Window same = *MakeWindow(10, 3, 2, 1, Padding::kSame);
  EXPECT_EQ(same.output, 5);
  EXPECT_EQ(same.pad_before, 0);  // one in all, and it goes behind
  EXPECT_EQ(MakeWindow(10, 4, 3, 1, Padding::kValid)->output, 3);
  EXPECT_EQ(MakeWindow(10, 3, 1, 2, Padding::kExplicit, 1, 3)->output, 10);
}

TEST(WindowTest, BadSizesAreErrors) {
  EXPECT_EQ(MakeWindow(2, 3, 1, 1, Padding::kValid)->output, 0);
  EXPECT_EQ(MakeWindow(1, 3, 2, 1, Padding::kValid)->output, 0);
  EXPECT_EQ(MakeWindow(1, 6, 3, 1, Padding::kValid)->output, 0);
  EXPECT_EQ(MakeWindow(1, 7, 3, 1, Padding::kValid).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(MakeWindow(1, 3, 1, 1, Padding::kValid).status().message(),
            "Computed output size would be negative: -1 [input_size: 1, effective_filter_size: 3, "
            "stride: 1]; the window does not fit into the input");
  EXPECT_EQ(MakeWindow(2, 0, 1, 1, Padding::kSame).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(MakeWindow(2, 1, 0, 1, Padding::kSame).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(MakeWindow(2, 1, 1, 1, Padding::kExplicit, -1, 0).status().code(),
            Code::kInvalidArgument);
  EXPECT_EQ(MakeWindow(2, INT64_MAX, 1, INT64_MAX, Padding::kSame).status().code(),
            Code::kInvalidArgument);
}

}  // namespace
}  // namespace thalweg::compute
