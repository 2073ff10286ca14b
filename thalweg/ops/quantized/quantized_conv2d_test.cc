// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "thalweg/ops/quantized/test_levels.h"
#include "thalweg/testing/kernel_call.h"

namespace thalweg {
namespace {

using Values = std::vector<double>;

Values Count(int n, double step, double from) {
  Values values;
  for (int i = 0; i < n; ++i) values.push_back(i * step + from);
  return values;
}

AttrMap Sliding(const std::string& padding, std::vector<int64_t> strides = {1, 1, 1, 1}) {
  return {{"padding", padding}, {"strides", std::move(strides)}};
}

const Tensor kImage = Levels(DType::kQuint8, {1, 3, 3, 2}, Count(18, 5, 5));
const Tensor kSignedImage = Levels(DType::kQint8, {1, 3, 3, 2}, Count(18, 5, -45));
const Tensor kFilter = Levels(DType::kQint8, {2, 2, 2, 2}, Count(16, 9, -60));
const Tensor kDepthFilter = Levels(DType::kQint8, {2, 2, 2, 1}, Count(8, 9, -30));

std::vector<Tensor> Inputs(std::vector<Tensor> tensors, const std::vector<float>& ends) {
  for (float end : ends) tensors.push_back(Tensor::Scalar(end));
  return tensors;
}
const std::vector<float> kEnds = {0, 2, -1, 1}, kWanted = {0, 2, -1, 1, -10, 20};

// As TensorFlow 2.21 computed them.
TEST(QuantizedConv2DTest, Recorded) {
  const auto run = [](std::string_view op, const std::vector<Tensor>& inputs,
                      AttrMap attrs = Sliding("VALID")) { return RunFirst(op, inputs, attrs); };
  const auto plain = Inputs({kImage, kFilter}, kEnds);
  const auto out = OutputsOf("QuantizedConv2D", plain, Sliding("VALID"));
  EXPECT_EQ(out[0], (Values{5880, 7860, 6120, 8820, 6600, 10740, 6840, 11700}));
  EXPECT_FLOAT_EQ(static_cast<float>(out[2][0]), 132622.125f);
  EXPECT_EQ(run("QuantizedConv2D", plain, Sliding("SAME")),
            (Values{5880, 7860, 6120, 8820, -300, 1230, 6600, 10740, 6840, 11700, -2100, 510, -9120,
                    -6510, -10440, -7470, -8880, -7305}));
  const auto wanted = Inputs({kImage, kFilter}, kWanted);
  EXPECT_EQ(run("QuantizedConv2DAndReluAndRequantize", wanted), (Values{5, 6, 5, 7, 5, 8, 5, 9}));
  EXPECT_EQ(run("QuantizedConv2DAndRequantize", wanted), (Values{2, 3, 2, 3, 3, 4, 3, 5}));
  const Tensor bias = Tensor::Vector<float>({1.5f, -20});
  const auto biased = Inputs({kImage, kFilter, bias}, kEnds);
  EXPECT_EQ(run("QuantizedConv2DWithBias", biased),
            (Values{30169, -315990, 30409, -315030, 30889, -313110, 31129, -312150}));
  EXPECT_EQ(run("QuantizedConv2DWithBiasAndRelu", biased),
            (Values{30169, 0, 30409, 0, 30889, 0, 31129, 0}));
  EXPECT_EQ(run("QuantizedConv2DWithBias", Inputs({kSignedImage, kFilter, bias}, kEnds)),
            (Values{16777, -158230, 17017, -157270, 17497, -155350, 17737, -154390}));
  AttrMap padded = Sliding("VALID");
  padded.Set("padding_list", std::vector<int64_t>{0, 0, 1, 1, 2, 0, 0, 0});
  const auto shifted = run("QuantizedConv2DWithBias", biased, padded);
  ASSERT_EQ(shifted.size(), 32u);
  EXPECT_EQ(Values(shifted.begin() + 8, shifted.begin() + 16),
            (Values{24289, -323850, 28429, -318900, 30169, -315990, 30409, -315030}));
  AttrMap wide = Sliding("VALID");
  wide.Set("dilations", std::vector<int64_t>{1, 2, 2, 1});
  EXPECT_EQ(run("QuantizedConv2DWithBias", biased, wide), (Values{35689, -309030}));
}

// The filter in packed form, kept by the session.
TEST(QuantizedConv2DTest, PackedWeight) {
  AttrMap attrs = Sliding("SAME");
  attrs.Set("_weight", std::string("f"));
  const Tensor unsigned_filter = Levels(DType::kQuint8, {2, 2, 2, 2}, Count(16, 9, 60));
  for (const Tensor& filter : {kFilter, unsigned_filter}) {
    const auto inputs = Inputs({kImage, filter}, {-1, 2, -1, 1});
    KernelCall call("QuantizedConv2D", inputs, attrs);
    for (int i = 0; i < 2; ++i) {
      ASSERT_TRUE(call.Run().ok());
      EXPECT_EQ(ToArray<double>(call.output(0)).values,
                RunFirst("QuantizedConv2D", inputs, Sliding("SAME")));
    }
  }
}

TEST(QuantizedConv2DTest, RecordedRequantized) {
  const Tensor bias = Tensor::Vector<float>({1.5f, -20});
  const Tensor integers = Levels(DType::kQint32, {2}, {1000, -2000});
  const auto real = Inputs({kImage, kFilter, bias}, kWanted);
  const auto whole = Inputs({kImage, kFilter, integers}, kWanted);
  const AttrMap attrs = Sliding("VALID");
  EXPECT_EQ(RunFirst("QuantizedConv2DWithBiasAndRequantize", real, attrs),
            (Values{12, -124, 12, -124, 12, -123, 12, -122}));
  EXPECT_EQ(RunFirst("QuantizedConv2DWithBiasAndRequantize", whole, attrs),
            (Values{3, 2, 3, 3, 3, 3, 3, 4}));
  EXPECT_EQ(RunFirst("QuantizedConv2DWithBiasAndReluAndRequantize", whole, attrs),
            (Values{5, 5, 6, 5, 6, 7, 6, 8}));
  std::vector<Tensor> channels = Inputs({kImage, kFilter, bias}, {0, 2});
  channels.push_back(Tensor::Vector<float>({-1, -2}));
  channels.push_back(Tensor::Vector<float>({1, 2}));
  channels.push_back(Tensor::Scalar(-10.0f));
  channels.push_back(Tensor::Scalar(20.0f));
  EXPECT_EQ(RunFirst("QuantizedConv2DWithBiasAndRequantize", channels, attrs),
            (Values{12, -121, 12, -120, 12, -119, 12, -118}));
}

TEST(QuantizedConv2DTest, RecordedDepthwise) {
  const AttrMap attrs = Sliding("VALID");
  const Tensor bias = Tensor::Vector<float>({1.5f, -20});
  const auto biased = Inputs({kImage, kDepthFilter, bias}, kEnds);
  EXPECT_EQ(RunFirst("QuantizedDepthwiseConv2D", Inputs({kImage, kDepthFilter}, kEnds), attrs),
            (Values{960, 1980, 840, 2220, 600, 2700, 480, 2940}));
  EXPECT_EQ(RunFirst("QuantizedDepthwiseConv2DWithBias", biased, attrs),
            (Values{25249, -321870, 25129, -321630, 24889, -321150, 24769, -320910}));
  EXPECT_EQ(RunFirst("QuantizedDepthwiseConv2DWithBiasAndRelu", biased, attrs),
            (Values{25249, 0, 25129, 0, 24889, 0, 24769, 0}));
  EXPECT_EQ(RunFirst("QuantizedDepthwiseConv2DWithBiasAndReluAndRequantize",
                     Inputs({kImage, kDepthFilter, bias}, kWanted), attrs),
            (Values{20, 0, 20, 0, 20, 0, 20, 0}));
}

// The sum of three reals: product, bias, summand.
TEST(QuantizedConv2DTest, Summand) {
  const AttrMap attrs = Sliding("VALID");
  const Tensor bias = Tensor::Vector<float>({1.5f, -20});
  const double step = 2.0 / 255 / 127;
  std::vector<Tensor> inputs = Inputs({kImage, kFilter, bias}, kEnds);
  inputs.push_back(Tensor::Of<float>(std::vector<float>(8, 100), Shape{1, 2, 2, 2}));
  const auto sums = RunFirst("QuantizedConv2DWithBiasSumAndRelu", inputs, attrs);
  const Values products = {5880, 7860, 6120, 8820, 6600, 10740, 6840, 11700};
  for (size_t i = 0; i < 8; ++i) {
    EXPECT_NEAR(sums[i] * step, products[i] * step + (i % 2 == 0 ? 1.5 : -20) + 100, 2 * step);
  }
  for (const bool is_signed : {false, true}) {
    inputs = Inputs({kImage, kFilter, bias}, kWanted);
    inputs.push_back(Levels(is_signed ? DType::kQint8 : DType::kQuint8, {1, 2, 2, 2},
                            Values(8, is_signed ? 127 : 255)));
    inputs.push_back(Tensor::Scalar(is_signed ? -30.0f : 0.0f));
    inputs.push_back(Tensor::Scalar(30.0f));
    const auto levels = RunFirst(is_signed ? "QuantizedConv2DWithBiasSignedSumAndReluAndRequantize"
                                           : "QuantizedConv2DWithBiasSumAndReluAndRequantize",
                                 inputs, attrs);
    for (size_t i = 0; i < 8; ++i) {
      const double real = products[i] * step + (i % 2 == 0 ? 1.5 : -20) + 30;
      EXPECT_EQ(levels[i], std::clamp(std::nearbyint(real * 255 / 20), 0.0, 255.0));
    }
  }
}

void ConvReference(RefCall<double>& r) {
  const auto &x = r.in[0], &f = r.in[1];
  const bool depthwise = r.node->op_name().find("Depthwise") != std::string::npos;
  const auto strides = r.Attr<std::vector<int64_t>>("strides");
  const int64_t rows = (x.shape.dim(1) - f.shape.dim(0)) / strides[1] + 1;
  const int64_t columns = (x.shape.dim(2) - f.shape.dim(1)) / strides[2] + 1;
  const int64_t in = x.shape.dim(3), each = f.shape.dim(3), out = depthwise ? in * each : each;
  Array<double> y(Shape{x.shape.dim(0), rows, columns, out});
  ForEachIndex(y.shape, [&](const std::vector<int64_t>& at) {
    double sum = 0;
    ForEachIndex(Shape{f.shape.dim(0), f.shape.dim(1), in}, [&](const std::vector<int64_t>& tap) {
      if (depthwise && tap[2] != at[3] / each) return;
      sum += x.At({at[0], at[1] * strides[1] + tap[0], at[2] * strides[2] + tap[1], tap[2]}) *
             f.At({tap[0], tap[1], tap[2], depthwise ? at[3] % each : at[3]});
    });
    y.At(at) = sum;
  });
  const double steps = r.in_type(1) == DType::kQint8 ? 254 : 255;
  r.out = {y, r.in[4], r.in[4]};
  for (int64_t c = 0; c < r.in[4].size(); ++c) {
    const double most = r.in[3][0] / 255 * ((r.in[5][c] - r.in[4][c]) / steps) * 2147483648.0;
    r.out[1][c] = -most;
    r.out[2][c] = most;
  }
}

TEST(QuantizedConv2DTest, Cases) {
  const AttrMap wrong = {{"padding", "VALID"}, {"strides", std::vector<int64_t>{1, 0, 1, 1}}};
  for (const char* op :
       {"QuantizedConv2D", "QuantizedConv2DPerChannel", "QuantizedDepthwiseConv2D"}) {
    // The filters of the others may have a range for each channel.
    const std::string one_range =
        op == std::string_view("QuantizedConv2D") ? "Shape must be rank 0 but is rank 1 for " : "";
    OpCase(op)
        .Reference(ConvReference)
        .Tolerance(DType::kFloat, 1e-6)
        .Try({In({2, 5, 6, 3}).Range(0, 255), In({2, 3, 3, 4}).Range(0, 120), End(0), End(2),
              End(0), End(3)},
             Sliding("VALID", {1, 1, 2, 1}))
        .Bad({In({2, 5, 6, 3}), In({2, 3, 2, 4}), End(0), End(2), End(0), End(3)}, Sliding("VALID"),
             Code::kInvalidArgument, "depth")
        .Bad({In({2, 1, 6, 3}), In({3, 3, 3, 4}), End(0), End(2), End(0), End(3)}, Sliding("VALID"),
             Code::kInvalidArgument, "fit")
        .Bad({In({5, 6, 3}), In({2, 3, 3, 4}), End(0), End(2), End(0), End(3)}, Sliding("VALID"),
             Code::kInvalidArgument, "")
        .Bad({In({1, 5, 6, 3}), In({2, 3, 3, 4}), In({1}), End(2), End(0), End(3)},
             Sliding("VALID"), Code::kInvalidArgument, "rank")
        .Bad({In({1, 5, 6, 3}), In({2, 3, 3, 4}), End(0), End(2), In({3}), In({2})},
             Sliding("VALID"), Code::kInvalidArgument, one_range, "")
        .Bad({In({1, 5, 6, 3}), In({2, 3, 3, 4}), End(0), End(2), In({1}), End(3)},
             Sliding("VALID"), Code::kInvalidArgument, one_range, "one number or one for each")
        .Bad({In({1, 5, 6, 3}), In({2, 3, 3, 4}), End(0), End(2), End(0), End(3)}, wrong,
             Code::kInvalidArgument, "positive")
        .Run();
  }
  OpCase("QuantizedConv2DPerChannel")
      .Reference(ConvReference)
      .Tolerance(DType::kFloat, 1e-6)
      .Try({In({1, 4, 4, 2}).Range(0, 255), In({2, 2, 2, 3}).Range(-120, 120), End(0), End(2),
            In({3}, {-1, -2, -3}), In({3}, {1, 2, 3})},
           Sliding("VALID"))
      .Run();
}

}  // namespace
}  // namespace thalweg
