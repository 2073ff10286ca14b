// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "thalweg/testing/kernel_call.h"
#include "thalweg/testing/op_case.h"

namespace thalweg {
namespace {

// By the angle of the color around the gray axis, in the hexagon.
std::vector<double> Hsv(double r, double g, double b) {
  const double most = std::max({r, g, b}), range = most - std::min({r, g, b});
  double sixth = 0;
  if (range > 0) {
    sixth = most == r ? (g - b) / range : most == g ? 2 + (b - r) / range : 4 + (r - g) / range;
  }
  return {sixth / 6 - std::floor(sixth / 6), most > 0 ? range / most : 0, most};
}

// By the sector of the hue, with three levels between value and gray.
std::vector<double> Rgb(double h, double s, double v) {
  const double sixth = 6 * (h - std::floor(h));
  const int sector = static_cast<int>(sixth);
  const double f = sixth - sector;
  const double low = v * (1 - s), falling = v * (1 - s * f), rising = v * (1 - s * (1 - f));
  const std::vector<std::vector<double>> sectors = {{v, rising, low}, {falling, v, low},
                                                    {low, v, rising}, {low, falling, v},
                                                    {rising, low, v}, {v, low, falling}};
  return sectors[static_cast<size_t>(sector % 6)];
}

template <class F>
void ForPixels(RefCall<double>& r, F f) {
  r.out = {r.in[0]};
  for (int64_t i = 0; i + 2 < r.in[0].size(); i += 3) {
    const auto made = f(r.in[0][i], r.in[0][i + 1], r.in[0][i + 2]);
    for (int64_t k = 0; k < 3; ++k) r.out[0][i + k] = made[static_cast<size_t>(k)];
  }
}

const In kPixels = In({2, 3, 5, 3}).Range(0.01, 1).Distinct();

TEST(ColorTest, ToHsv) {
  OpCase("RGBToHSV")
      .Reference([](RefCall<double>& r) { ForPixels(r, Hsv); })
      .Tolerance(DType::kBfloat16, 0.05)
      .Tolerance(DType::kHalf, 0.01)
      .Try({kPixels})
      .Try({In({3}, {0.2, 0.9, 0.4})})
      .Try({In({2, 3}, {0.5, 0.2, 0.1, 0.3, 0.2, 0.7})})
      .Try({In({0, 3})})
      .Bad({In({})}, {}, Code::kInvalidArgument, "")
      .Run();
  // Gray and black have no hue.
  const auto gray = RunOp(
      "RGBToHSV", {Tensor::Of<float>(std::vector<float>{0.5f, 0.5f, 0.5f, 0, 0, 0}, Shape{2, 3})});
  EXPECT_EQ(ToArray<double>((*gray)[0]).values, (std::vector<double>{0, 0, 0.5, 0, 0, 0}));
}

TEST(ColorTest, OnlyThreeChannels) {
  const Tensor four = Tensor::Of<float>(std::vector<float>{1, 2, 3, 4}, Shape{1, 4});
  for (const char* op : {"RGBToHSV", "HSVToRGB"}) {
    EXPECT_NE(RunOp(op, {four}).status().message().find("Dimension must be 3 but is 4 for "),
              std::string_view::npos);
    const Status status = KernelCall(op, {four}).Run();
    EXPECT_EQ(status.code(), Code::kFailedPrecondition);
    EXPECT_EQ(status.message(), "input must have 3 channels but input only has 4 channels.");
  }
}

TEST(ColorTest, ToRgb) {
  OpCase("HSVToRGB")
      .Reference([](RefCall<double>& r) { ForPixels(r, Rgb); })
      .Tolerance(DType::kBfloat16, 0.05)
      .Tolerance(DType::kHalf, 0.01)
      .Try({kPixels})
      .Try({In({2, 3}, {0, 0.25, 0.5, 0.75, 1, 1})})
      .Run();
}

// Each channel of each image away from its mean.
void Contrast(RefCall<double>& r) {
  r.out = {r.in[0]};
  const Shape& s = r.in[0].shape;
  const int64_t channels = s.dim(s.rank() - 1);
  const int64_t pixels = s.dim(s.rank() - 2) * s.dim(s.rank() - 3);
  for (int64_t i = 0; i < r.in[0].size(); ++i) {
    const int64_t image = i / (channels * pixels);
    double mean = 0;
    for (int64_t p = 0; p < pixels; ++p) {
      mean += r.in[0][(image * pixels + p) * channels + i % channels] / static_cast<double>(pixels);
    }
    r.out[0][i] = (r.in[0][i] - mean) * r.in[1][0] + mean;
  }
}

TEST(ColorTest, Adjusted) {
  const In by = In(Tensor::Scalar(0.3f));
  OpCase("AdjustHue")
      .Reference([](RefCall<double>& r) {
        ForPixels(r, [&](double red, double g, double b) {
          const auto hsv = Hsv(red, g, b);
          return Rgb(hsv[0] + r.in[1][0], hsv[1], hsv[2]);
        });
      })
      .Tolerance(DType::kFloat, 1e-5)
      .NoGradient("there is none")
      .Try({kPixels, by})
      .Try({kPixels, In(Tensor::Scalar(-0.9f))})
      .Bad({In({3, 3}), by}, {}, Code::kInvalidArgument, "")
      .Bad({kPixels, In({1})}, {}, Code::kInvalidArgument, "")
      .Run();
  OpCase("AdjustSaturation")
      .Reference([](RefCall<double>& r) {
        ForPixels(r, [&](double red, double g, double b) {
          const auto hsv = Hsv(red, g, b);
          return Rgb(hsv[0], std::clamp(hsv[1] * r.in[1][0], 0.0, 1.0), hsv[2]);
        });
      })
      .Tolerance(DType::kFloat, 1e-5)
      .NoGradient("there is none")
      .Try({kPixels, by})
      .Try({kPixels, In(Tensor::Scalar(3.0f))})
      .Bad({In({3, 3, 2}), by}, {}, Code::kInvalidArgument, "Dimension must be 3 but is 2 for ",
           "input must have 3 channels but instead has 2")
      .Run();
  OpCase("AdjustContrastv2")
      .Reference(Contrast)
      .Tolerance(DType::kFloat, 1e-6)
      .NoGradient("there is none")
      .Try({In({2, 4, 3, 5}), In(Tensor::Scalar(1.7f))})
      .Try({In({4, 3, 1}), In(Tensor::Scalar(0.2f))})
      .Try({In({0, 3, 1}), In(Tensor::Scalar(0.2f))})
      .Bad({In({3, 3}), by}, {}, Code::kInvalidArgument, "")
      .Bad({In({3, 3, 2}), In({2})}, {}, Code::kInvalidArgument, "")
      .Run();
}

TEST(ColorTest, ContrastBetweenBounds) {
  const auto number = [](float x) { return In(Tensor::Scalar(x)); };
  OpCase("AdjustContrast")
      .Reference([](RefCall<double>& r) {
        Contrast(r);
        for (double& x : r.out[0].values) x = std::max(std::min(x, r.in[3][0]), r.in[2][0]);
      })
      .Tolerance(DType::kFloat, 1e-6)
      .NoGradient("there is none")
      .Try({In({2, 4, 3, 5}), number(1.7f), number(-1), number(1)})
      .Try({In({4, 3, 1}), number(-2), number(0), number(0.5f)})
      .Try({In({4, 3, 1}), number(2), number(3), number(2)})
      .Try({In({0, 3, 1}), number(2), number(0), number(2)})
      .Bad({In({3, 3}), number(2), number(0), number(2)}, {}, Code::kInvalidArgument, "")
      .Bad({In({3, 3, 2}), In({1}), number(0), number(2)}, {}, Code::kInvalidArgument, "")
      .Bad({In({3, 3, 2}), number(2), number(0), In({2})}, {}, Code::kInvalidArgument, "")
      .Run();
}

// Brightness stays where only hue turns; what is in the plane turns as a vector does.
void InYiqReference(RefCall<double>& r) {
  const double hue = r.in[1][0], saturation = r.in[2][0], value = r.in[3][0];
  ForPixels(r, [&](double red, double green, double blue) {
    const double y = 0.299 * red + 0.587 * green + 0.114 * blue;
    const double i = 0.596 * red - 0.274 * green - 0.322 * blue;
    const double q = 0.211 * red - 0.523 * green + 0.312 * blue;
    const double length = saturation * std::hypot(i, q), angle = std::atan2(q, i) + hue;
    const double u = length * std::cos(angle), v = length * std::sin(angle);
    return std::vector<double>{value * (y + 0.95617069 * u + 0.62143257 * v),
                               value * (y - 0.2726886 * u - 0.64681324 * v),
                               value * (y - 1.103744 * u + 1.70062309 * v)};
  });
}

TEST(ColorTest, InYiq) {
  const auto number = [](float x) { return In(Tensor::Scalar<float>(x)); };
  OpCase("AdjustHsvInYiq")
      .Reference(InYiqReference)
      .Types({{"T", DType::kFloat}})
      .Tolerance(DType::kFloat, 1e-5)
      .Try({kPixels, number(0.3f), number(1.2f), number(0.9f)})
      .Try({kPixels, number(-2.5f), number(0), number(1.5f)})
      .Try({In({0, 2, 3}), number(1), number(1), number(1)})
      .Bad({In({4, 3}), number(1), number(1), number(1)}, {}, Code::kInvalidArgument, "")
      .Bad({In({2, 4, 2}), number(1), number(1), number(1)}, {}, Code::kInvalidArgument,
           "3 channels")
      .Bad({In({2, 4, 3}), In({1}), number(1), number(1)}, {}, Code::kInvalidArgument, "")
      .Run();
}

}  // namespace
}  // namespace thalweg
