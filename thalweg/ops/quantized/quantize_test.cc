// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "thalweg/ops/quantized/test_levels.h"

namespace thalweg {
namespace {

const std::vector<DType> kLevelTypes = {DType::kQint8, DType::kQuint8, DType::kQint16,
                                        DType::kQuint16, DType::kQint32};

struct Ends {
  double lowest, highest;
};
Ends EndsOf(DType dtype) {
  switch (dtype) {
    case DType::kQint8:
      return {-128, 127};
    case DType::kQuint8:
      return {0, 255};
    case DType::kQint16:
      return {-32768, 32767};
    case DType::kQuint16:
      return {0, 65535};
    default:
      return {-2147483648.0, 2147483647.0};
  }
}

AttrMap Mode(const std::string& mode, int axis = -1, bool narrow = false, bool even = false) {
  return {{"mode", mode},
          {"axis", axis},
          {"narrow_range", narrow},
          {"round_mode", even ? "HALF_TO_EVEN" : "HALF_AWAY_FROM_ZERO"}};
}

int64_t ChannelOf(const Shape& shape, int64_t axis, int64_t i) {
  if (axis < 0) return 0;
  int64_t below = 1;
  for (int d = static_cast<int>(axis) + 1; d < shape.rank(); ++d) below *= shape.dim(d);
  return i / below % shape.dim(static_cast<int>(axis));
}

// The level nearest to each number; numbers half way between two are not tried here.
void QuantizeReference(RefCall<double>& r) {
  const DType type = r.node->output_type(0);
  const auto [lowest, highest] = EndsOf(type);
  const bool scaled = r.Attr<std::string>("mode") == "SCALED";
  const double least = lowest + (scaled && r.Attr<bool>("narrow_range") ? 1 : 0);
  const int64_t axis = r.Attr<int64_t>("axis");
  r.out = {Array<double>(r.in[0].shape), Array<double>(r.in[1].shape),
           Array<double>(r.in[1].shape)};
  std::vector<double> steps;
  for (int64_t c = 0; c < r.in[1].size(); ++c) {
    double low = std::min(0.0, r.in[1][c]), high = std::max(r.in[2][c], 0.0);
    double step = (high - low) / (highest - lowest);
    if (scaled) {
      step = high / highest;
      if (least * low > 0) step = std::max(step, low / least);
      low = least * step;
      high = highest * step;
    }
    steps.push_back(step);
    r.out[1][c] = low;
    r.out[2][c] = high;
  }
  for (int64_t i = 0; i < r.in[0].size(); ++i) {
    const int64_t c = ChannelOf(r.in[0].shape, axis, i);
    const double x = std::clamp(r.in[0][i], r.out[1][c], r.out[2][c]);
    const double step = steps[static_cast<size_t>(c)];
    r.out[0][i] = scaled ? std::round(x / step) : std::round((x - r.out[1][c]) / step + lowest);
  }
}

TEST(QuantizeTest, Quantize) {
  for (DType dtype : kLevelTypes) {
    OpCase c("QuantizeV2");
    c.Types({{"T", dtype}})
        .Reference(QuantizeReference)
        .Tolerance(dtype, dtype == DType::kQint32 ? 1e-3 : 0)
        .Try({In({3, 5}).Range(0.3, 1.9), End(-1), End(2)}, Mode("MIN_COMBINED"))
        .Try({In({3, 5}).Range(0.3, 4), End(-1), End(2)}, Mode("SCALED"))
        .Try({In({7}).Range(0.6, 2.4), End(-1.5), End(3)}, Mode("SCALED", -1, true, true));
    if (dtype != DType::kQint32) {
      c.Try({In({2, 3, 2}).Range(-3, 3), In({3}, {-1, -2, -3}), In({3}, {2, 3, 1})},
            Mode("MIN_COMBINED", 1));
      c.Try({In({2, 3}).Range(-3, 3), In({2}, {-1, -2}), In({2}, {2, 3})}, Mode("SCALED", 0));
    }
    c.Bad({In({2}), End(3), End(2)}, Mode("SCALED"), Code::kInvalidArgument, "larger")
        .Bad({In({2}), In({2}), In({2})}, Mode("SCALED"), Code::kInvalidArgument, "axis")
        .Bad({In({2, 3}), In({2}), In({2})}, Mode("SCALED", 1), Code::kInvalidArgument, "")
        .Bad({In({2}), In({2}), In({2})}, Mode("SCALED", 1), Code::kInvalidArgument, "rank")
        .Bad({In({2}), In({2}), In({2})}, Mode("SCALED", -2), Code::kInvalidArgument, "-1")
        .Bad({In({2}), In({2}), In({2})}, Mode("MIN_FIRST", 0), Code::kUnimplemented, "MIN_FIRST")
        .Bad({In({2}), End(0), End(1)}, Mode("MIN_FIRST", -1, false, true), Code::kInvalidArgument,
             "SCALED")
        .Run();
  }
}

// As TensorFlow 2.21 computed them: ties, the ends, and what lies outside.
TEST(QuantizeTest, Recorded) {
  const Tensor x = Tensor::Vector<float>(
      {-10, -2, -1, -0.51f, -0.5f, -0.49f, 0, 0.01f, 0.3f, 0.5f, 1, 1.5f, 2, 3, 100});
  const auto run = [&](DType dtype, float low, float high, AttrMap attrs) {
    attrs.Set("T", dtype);
    return OutputsOf("QuantizeV2", {x, Tensor::Scalar(low), Tensor::Scalar(high)}, attrs);
  };
  using Values = std::vector<double>;
  EXPECT_EQ(run(DType::kQint8, -1, 2, Mode("MIN_COMBINED"))[0],
            (Values{-128, -128, -128, -86, -86, -85, -43, -42, -18, -1, 42, 85, 127, 127, 127}));
  EXPECT_EQ(run(DType::kQuint8, -3, -1, Mode("MIN_COMBINED"))[0],
            (Values{0, 85, 170, 212, 213, 213, 255, 255, 255, 255, 255, 255, 255, 255, 255}));
  EXPECT_EQ(run(DType::kQint8, -1, 2, Mode("MIN_FIRST"))[0],
            (Values{-128, -128, -128, -86, -86, -85, -43, -42, -17, 0, 42, 85, 127, 127, 127}));
  EXPECT_EQ(run(DType::kQuint8, -1, 2, Mode("MIN_FIRST"))[0],
            (Values{0, 0, 0, 42, 42, 43, 85, 86, 111, 128, 170, 213, 255, 255, 255}));
  const auto scaled = run(DType::kQint8, -3, -1, Mode("SCALED"));
  EXPECT_EQ(scaled[0], (Values{-128, -85, -43, -22, -21, -21, 0, 0, 13, 21, 43, 64, 85, 127, 127}));
  EXPECT_EQ(scaled[1][0], -3);
  EXPECT_EQ(scaled[2][0], 2.9765625);
  EXPECT_EQ(run(DType::kQuint8, 1, 3, Mode("SCALED", -1, true, true))[0],
            (Values{1, 1, 1, 1, 1, 1, 1, 1, 26, 42, 85, 128, 170, 255, 255}));
  // A range of nothing grows to a hundredth.
  EXPECT_FLOAT_EQ(static_cast<float>(run(DType::kQuint8, 0, 0, Mode("MIN_FIRST"))[2][0]), 0.01f);
}

TEST(QuantizeTest, WhatIsNoNumberOrDoesNotFit) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinite = std::numeric_limits<float>::infinity();
  const Tensor x = Tensor::Vector<float>({nan, infinite, -infinite});
  for (const char* mode : {"MIN_COMBINED", "MIN_FIRST", "SCALED"}) {
    for (DType dtype : kLevelTypes) {
      AttrMap attrs = Mode(mode);
      attrs.Set("T", dtype);
      const auto [lowest, highest] = EndsOf(dtype);
      const auto y =
          RunFirst("QuantizeV2", {x, Tensor::Scalar(-1.0f), Tensor::Scalar(1.0f)}, attrs);
      EXPECT_EQ(y, (std::vector<double>{lowest, highest, lowest})) << mode << DTypeName(dtype);
      const auto wild =
          RunFirst("QuantizeV2", {x, Tensor::Scalar(-infinite), Tensor::Scalar(nan)}, attrs);
      EXPECT_EQ(wild.size(), 3u);
    }
  }
}

AttrMap DequantizeMode(const std::string& mode, int axis = -1, bool narrow = false) {
  return {{"mode", mode}, {"axis", axis}, {"narrow_range", narrow}};
}

void DequantizeReference(RefCall<double>& r) {
  const auto [lowest, highest] = EndsOf(r.in_type(0));
  const std::string mode = r.Attr<std::string>("mode");
  const int64_t axis = r.Attr<int64_t>("axis");
  r.out = {Array<double>(r.in[0].shape)};
  for (int64_t i = 0; i < r.in[0].size(); ++i) {
    const int64_t c = ChannelOf(r.in[0].shape, axis, i);
    const double low = r.in[1][c], high = r.in[2][c];
    const double step = (high - low) / (highest - lowest);
    const double level = r.in[0][i];
    if (mode == "SCALED") {
      const double least = lowest + (r.Attr<bool>("narrow_range") ? 1 : 0);
      double scale = high / highest;
      if (least != 0) scale = std::max(scale, low / least);
      r.out[0][i] = level * scale;
    } else {
      const double first = mode == "MIN_FIRST" ? std::round(low / step) * step : low;
      r.out[0][i] = (level - lowest) * step + first;
    }
  }
}

TEST(QuantizeTest, Dequantize) {
  OpCase("Dequantize")
      .Reference(DequantizeReference)
      .Tolerance(DType::kFloat, 1e-6)
      .Try({In({3, 4}).Range(-100, 100), End(-1), End(2)}, DequantizeMode("MIN_COMBINED"))
      .Try({In({3, 4}).Range(-100, 100), End(-1), End(2)}, DequantizeMode("SCALED"))
      .Try({In({5}).Range(-100, 100), End(-3), End(2)}, DequantizeMode("SCALED", -1, true))
      .Try({In({3, 4}).Range(-100, 100), In({3}, {-1, -2, -3}), In({3}, {1, 2, 5})},
           DequantizeMode("SCALED", 0))
      .Try({In({}).Range(-100, 100), End(-1), End(2)}, DequantizeMode("MIN_COMBINED"))
      .Bad({In({2}), In({2}), In({2})}, DequantizeMode("SCALED"), Code::kInvalidArgument, "axis")
      .Bad({In({2}), In({2}), In({2})}, DequantizeMode("SCALED", 1), Code::kInvalidArgument, "rank")
      .Bad({In({2, 3}), In({2}), In({2})}, DequantizeMode("SCALED", 1), Code::kInvalidArgument, "")
      .Bad({In({2}), In({2}), In({2})}, DequantizeMode("MIN_FIRST", 0), Code::kUnimplemented,
           "MIN_FIRST")
      .Run();
  for (DType dtype : kLevelTypes) {
    OpCase("Dequantize")
        .Types({{"T", dtype}, {"dtype", DType::kFloat}})
        .Reference(DequantizeReference)
        .Try({In({3, 4}).Range(-100, 100), End(-2), End(4)}, DequantizeMode("MIN_FIRST"))
        .Run();
  }
  EXPECT_EQ(RunOp("Dequantize",
                  {Levels(DType::kQint8, {1}, {3}), Tensor::Scalar(0.0f), Tensor::Scalar(1.0f)},
                  {{"mode", "MIN_FIRST"}, {"dtype", DType::kBfloat16}})
                .status()
                .code(),
            Code::kInvalidArgument);
}

// The low end is rounded to a level; where it lies half way, as TensorFlow does.
TEST(QuantizeTest, RoundedLowEnd) {
  const auto low = [](float from, float to) {
    return RunFirst("Dequantize",
                    {Levels(DType::kQuint8, {1}, {0}), Tensor::Scalar(from), Tensor::Scalar(to)},
                    DequantizeMode("MIN_FIRST"))[0];
  };
  EXPECT_NEAR(low(-1, 1) / (2 / 255.0), -127, 1e-4);
  EXPECT_NEAR(low(-3, 3) / (6 / 255.0), -128, 1e-4);
  EXPECT_NEAR(low(1, 3) / (2 / 255.0), 127, 1e-4);
  EXPECT_EQ(low(2, 2), 2);
}

}  // namespace
}  // namespace thalweg
