// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "thalweg/ops/quantized/test_levels.h"

namespace thalweg {
namespace {

constexpr double kLevels = 4294967296.0;
const In kWide = In({2, 3}, {-2000000000, -5, 0, 7, 100000, 1500000000});

double Real(double level, double low, double high) {
  return low + (level + kLevels / 2) * (high - low) / kLevels;
}

void UsedReference(RefCall<double>& r) {
  double low = 0, high = r.in[1][0];
  for (double level : r.in[0].values) {
    low = std::min(low, Real(level, r.in[1][0], r.in[2][0]));
    high = std::max(high, Real(level, r.in[1][0], r.in[2][0]));
  }
  r.out = {Array<double>(Shape{}, {low}), Array<double>(Shape{}, {high})};
}

void MoveReference(RefCall<double>& r) {
  const bool is_signed = r.node->output_type(0) == DType::kQint8;
  double low = 0, high = 0;
  if (r.in.size() > 3) {
    low = r.in[3][0];
    high = r.in[4][0];
  } else {
    UsedReference(r);
    low = r.out[0][0];
    high = r.out[1][0];
  }
  Array<double> y(r.in[0].shape);
  for (int64_t i = 0; i < y.size(); ++i) {
    const double real = Real(r.in[0][i], r.in[1][0], r.in[2][0]);
    const double level =
        std::round(real * 255 / (high - low)) - std::round(low * 255 / (high - low));
    y[i] = std::clamp(level, 0.0, 255.0) - (is_signed ? 128 : 0);
  }
  r.out = {y, Array<double>(Shape{}, {low}), Array<double>(Shape{}, {high})};
}

TEST(RequantizeTest, Range) {
  OpCase("RequantizationRange")
      .Reference(UsedReference)
      .Try({kWide, End(-4), End(4)})
      .Try({In({2}, {1000000000, 1}), End(-4), End(8)})
      .Bad({kWide, In({2}), End(1)}, {}, Code::kInvalidArgument, "rank")
      .Run();
  // A range of no levels gives the low end, as TensorFlow has it.
  const auto none = OutputsOf("RequantizationRange", {Levels(DType::kQint32, {0}, {}),
                                                      Tensor::Scalar(-4.0f), Tensor::Scalar(8.0f)});
  EXPECT_EQ(none[0][0], 0);
  EXPECT_EQ(none[1][0], -4);
}

TEST(RequantizeTest, Shrink) {
  OpCase("QuantizeDownAndShrinkRange")
      .Reference(MoveReference)
      .Try({kWide, End(-4), End(4)})
      .Try({In({3}, {-110000000, -200000000, -150000000}), End(-4), End(4)})
      .Bad({kWide, End(1), In({1})}, {}, Code::kInvalidArgument, "rank")
      .Run();
}

TEST(RequantizeTest, Requantize) {
  OpCase("Requantize")
      .Reference(MoveReference)
      .Try({kWide, End(-4), End(4), End(-1), End(3)})
      .Try({kWide, End(-4), End(4), End(0), End(5)})
      .Bad({kWide, End(-4), End(4), End(1), End(3)}, {}, Code::kInvalidArgument, "<= 0")
      .Bad({kWide, End(-4), End(4), End(-1), End(-3)}, {}, Code::kInvalidArgument, ">=")
      .Bad({kWide, In({1}), End(4), End(-1), End(3)}, {}, Code::kInvalidArgument, "rank")
      .Run();
  // An empty range has the lowest level only.
  EXPECT_EQ(RunFirst("Requantize",
                     {Levels(DType::kQint32, {2}, {5, -7}), Tensor::Scalar(-1.0f),
                      Tensor::Scalar(1.0f), Tensor::Scalar(0.0f), Tensor::Scalar(0.0f)},
                     {{"out_type", DType::kQint8}}),
            (std::vector<double>{-128, -128}));
}

const In kChannels = In({1, 1, 2, 3}, {-2000000000, -5, 0, 7, 100000, 1500000000});
const In kLows = In({3}, {-4, -2, -1}), kHighs = In({3}, {4, 3, 1});

void ChannelReference(RefCall<double>& r) {
  const bool is_signed = r.node->output_type(0) == DType::kQint8;
  Array<double> y(r.in[0].shape);
  const double reach = std::max(std::abs(r.in[3][0]), std::abs(r.in[4][0]));
  for (int64_t i = 0; i < y.size(); ++i) {
    const int64_t c = r.in[1].size() == 1 ? 0 : i % 3;
    const double step = std::max(std::abs(r.in[1][c]), std::abs(r.in[2][c])) / (kLevels / 2);
    const double level = std::round(r.in[0][i] * step * (is_signed ? 127 : 255) / reach);
    y[i] = std::clamp(level, is_signed ? -128.0 : 0.0, is_signed ? 127.0 : 255.0);
  }
  r.out = {y, r.in[3], r.in[4]};
}

TEST(RequantizeTest, PerChannel) {
  OpCase("RequantizePerChannel")
      .Reference(ChannelReference)
      .Try({kChannels, kLows, kHighs, End(-1), End(3)})
      .Try({kChannels, In({1}, {-4}), In({1}, {4}), End(-1), End(3)})
      .Bad({kWide, kLows, kHighs, End(-1), End(3)}, {}, Code::kInvalidArgument, "")
      .Bad({kChannels, In({2}), In({2}), End(-1), End(3)}, {}, Code::kInvalidArgument, "")
      .Run();
  EXPECT_EQ(RunOp("RequantizePerChannel",
                  {Levels(DType::kQint32, {1, 1, 1, 1}, {5}), Tensor::Vector<float>({-1}),
                   Tensor::Vector<float>({1}), Tensor::Scalar(0.0f), Tensor::Scalar(1.0f)},
                  {{"out_type", DType::kQint8}})
                .status()
                .code(),
            Code::kInvalidArgument);
}

TEST(RequantizeTest, RangePerChannel) {
  OpCase("RequantizationRangePerChannel")
      .Reference([](RefCall<double>& r) {
        double most = 0;
        bool is_signed = false;
        for (int64_t i = 0; i < r.in[0].size(); ++i) {
          const int64_t c = i % 3;
          is_signed = is_signed || r.in[0][i] < 0;
          most = std::max(most, std::abs(r.in[0][i]) / (kLevels / 2) *
                                    std::max(std::abs(r.in[1][c]), std::abs(r.in[2][c])));
        }
        most = std::min(most, static_cast<double>(r.Attr<float>("clip_value_max")));
        r.out = {Array<double>(Shape{}, {is_signed ? -most : 0}), Array<double>(Shape{}, {most})};
      })
      .Try({kChannels, kLows, kHighs}, {{"clip_value_max", 1e9f}})
      .Try({kChannels, kLows, kHighs}, {{"clip_value_max", 1.0f}})
      .Try({In({1, 1, 1, 3}, {1000000000, 5, 7}), kLows, kHighs}, {{"clip_value_max", 10.0f}})
      .Bad({kChannels, In({2}), In({2})}, {{"clip_value_max", 1.0f}}, Code::kInvalidArgument, "")
      .Bad({kWide, kLows, kHighs}, {{"clip_value_max", 1.0f}}, Code::kInvalidArgument, "")
      .Run();
}

}  // namespace
}  // namespace thalweg
