// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "thalweg/testing/op_case.h"

namespace thalweg {
namespace {

template <bool kSecond>
void GlimpseReference(RefCall<double>& r) {
  const auto &x = r.in[0], &offsets = r.in[2];
  const bool centered = r.Attr<bool>("centered"), normalized = r.Attr<bool>("normalized");
  Array<double> y(Shape{x.shape.dim(0), static_cast<int64_t>(r.in[1][0]),
                        static_cast<int64_t>(r.in[1][1]), x.shape.dim(3)});
  ForEachIndex(y.shape, [&](const std::vector<int64_t>& at) {
    std::vector<int64_t> from = at;
    for (const size_t axis : {1u, 2u}) {
      const auto size = static_cast<double>(x.shape.dim(static_cast<int>(axis)));
      const double half = r.in[1][static_cast<int64_t>(axis) - 1] / 2;
      double first = offsets.At({at[0], static_cast<int64_t>(axis) - 1}) * (normalized ? size : 1);
      if (centered && kSecond && !normalized) {
        first += size / 2;
      } else if (centered) {
        first = (first + size) / 2 - half;
      } else if (!kSecond) {
        first -= half;
      }
      from[axis] += static_cast<int64_t>(std::trunc(first));
      if (from[axis] < 0 || from[axis] >= x.shape.dim(static_cast<int>(axis))) return;
    }
    y.At(at) = x.At(from);
  });
  r.out = {y};
}

In GlimpseSize(int32_t rows, int32_t columns) {
  return In(Tensor::Vector<int32_t>({rows, columns}));
}

AttrMap Rules(bool centered, bool normalized, const std::string& noise = "zero") {
  return {{"centered", centered},
          {"normalized", normalized},
          {"uniform_noise", false},
          {"noise", noise}};
}

OpCase Cases(const std::string& op) {
  OpCase c(op);
  c.NoGradient("there is none");
  const In offsets = In({3, 2}, {0.13, -0.17, 0.91, 0.87, -0.93, -1.61});
  for (const bool centered : {true, false}) {
    for (const bool normalized : {true, false}) {
      c.Try({In({3, 5, 6, 2}), GlimpseSize(3, 4), offsets}, Rules(centered, normalized));
      c.Try({In({3, 4, 3, 1}), GlimpseSize(6, 7), offsets}, Rules(centered, normalized));
    }
  }
  c.Try({In({0, 5, 6, 2}), GlimpseSize(3, 4), In({0, 2})}, Rules(true, true))
      .Bad({In({5, 6, 2}), GlimpseSize(3, 4), In({1, 2})}, Rules(true, true),
           Code::kInvalidArgument, "")
      .Bad({In({1, 5, 6, 2}), GlimpseSize(3, 4), In({2, 2})}, Rules(true, true),
           Code::kInvalidArgument, "")
      .Bad({In({1, 5, 6, 2}), GlimpseSize(3, 4), In({1, 3})}, Rules(true, true),
           Code::kInvalidArgument, "")
      .Bad({In({1, 5, 6, 2}), In(Tensor::Vector<int32_t>({3})), In({1, 2})}, Rules(true, true),
           Code::kInvalidArgument, "two elements")
      .Bad({In({1, 5, 6, 2}), GlimpseSize(3, -4), In({1, 2})}, Rules(true, true),
           Code::kInvalidArgument, "")
      .Bad({In({1, 5, 6, 2}), GlimpseSize(3, 4), In({1, 2})}, Rules(true, true, "white"),
           Code::kInvalidArgument, "uniform, gaussian, or zero");
  return c;
}

TEST(GlimpseTest, First) { Cases("ExtractGlimpse").Reference(GlimpseReference<false>).Run(); }
TEST(GlimpseTest, Second) { Cases("ExtractGlimpseV2").Reference(GlimpseReference<true>).Run(); }

// A window around an image of 2 by 2, in the middle of 40 by 40.
std::vector<float> Noisy(const std::string& noise, bool uniform) {
  const auto y = RunOp(
      "ExtractGlimpse",
      {Tensor::Of<float>(std::vector<float>{1, 20, 0, 0, 0, 0, 0, 0}, Shape{1, 2, 2, 2}),
       Tensor::Vector<int32_t>({40, 40}), Tensor::Of<float>(std::vector<float>{0, 0}, Shape{1, 2})},
      {{"uniform_noise", uniform}, {"noise", noise}});
  EXPECT_TRUE(y.ok()) << y.status().ToString();
  const float* data = (*y)[0].data<float>();
  return {data, data + (*y)[0].num_elements()};
}

TEST(GlimpseTest, UniformNoiseLiesBetweenTheImagesEnds) {
  const std::vector<float> noise = Noisy("uniform", true);
  const auto [least, largest] = std::minmax_element(noise.begin(), noise.end());
  EXPECT_GE(*least, 0);
  EXPECT_LT(*least, 0.2f);
  EXPECT_GT(*largest, 19.8f);
  EXPECT_LE(*largest, 20);
  EXPECT_EQ(noise, Noisy("uniform", true));
}

TEST(GlimpseTest, NormalNoiseIsThatOfEachChannel) {
  // Mean and deviation of bounded normal numbers, as TensorFlow 2.21 gives them, within 4 sigma.
  const std::vector<float> noise = Noisy("gaussian", false);
  for (const size_t channel : {0u, 1u}) {
    const double scale = channel == 0 ? 1 : 20;
    double sum = 0;
    for (size_t i = channel; i < noise.size(); i += 2) {
      EXPECT_GE(noise[i], 0);
      EXPECT_LE(noise[i], scale);
      sum += noise[i] / scale;
    }
    EXPECT_NEAR(sum / 1600, 0.317, 0.031);
  }
}

TEST(GlimpseTest, OffsetsThatAreNoPlaceGiveNoPixel) {
  for (const float offset : {std::nanf(""), 1e30f, -1e30f}) {
    const auto y = RunOp("ExtractGlimpse",
                         {Tensor::Of<float>(std::vector<float>{1, 2, 3, 4}, Shape{1, 2, 2, 1}),
                          Tensor::Vector<int32_t>({1, 2}),
                          Tensor::Of<float>(std::vector<float>{offset, 0}, Shape{1, 2})},
                         Rules(true, false));
    ASSERT_TRUE(y.ok()) << y.status().ToString();
    EXPECT_EQ((*y)[0].data<float>()[0], 0);
    EXPECT_EQ((*y)[0].data<float>()[1], 0);
  }
}

}  // namespace
}  // namespace thalweg
