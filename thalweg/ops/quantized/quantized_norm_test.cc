// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "thalweg/ops/quantized/test_levels.h"

namespace thalweg {
namespace {

std::vector<double> Sixteen() {
  std::vector<double> values;
  for (int i = 0; i < 32; ++i) values.push_back(i * 8);
  return values;
}

// As TensorFlow 2.21 computed them, to two levels: it rounds the low end in float.
TEST(QuantizedNormTest, RecordedInstances) {
  const Tensor x = Levels(DType::kQuint8, {1, 4, 4, 2}, Sixteen());
  const std::vector<Tensor> inputs = {x, Tensor::Scalar(-1.0f), Tensor::Scalar(3.0f)};
  const auto out = OutputsOf("QuantizedInstanceNorm", inputs);
  const std::vector<double> want = {0,   16,  34,  51,  68,  85,  101, 118,
                                    136, 153, 169, 186, 203, 220, 238, 254};
  for (size_t i = 0; i < 32; ++i) EXPECT_NEAR(out[0][i], want[i / 2], 2) << i;
  EXPECT_NEAR(out[1][0], -1.62697219, 1e-6);
  EXPECT_NEAR(out[2][0], 1.62697219, 1e-6);
  const auto given =
      RunFirst("QuantizedInstanceNorm", inputs,
               {{"output_range_given", true}, {"given_y_min", -1.0f}, {"given_y_max", 1.0f}});
  const std::vector<double> clipped = {0,   0,   0,   4,   31,  59,  87,  114,
                                       142, 169, 197, 225, 252, 255, 255, 255};
  for (size_t i = 0; i < 32; ++i) EXPECT_NEAR(given[i], clipped[i / 2], 1) << i;
  const auto flat =
      OutputsOf("QuantizedInstanceNorm",
                {Levels(DType::kQuint8, {1, 2, 2, 1}, {9, 9, 9, 9}), inputs[1], inputs[2]});
  EXPECT_EQ(flat[0], (std::vector<double>{0, 0, 0, 0}));
  EXPECT_NEAR(flat[2][0], 0.001, 1e-9);
}

TEST(QuantizedNormTest, Instances) {
  const AttrMap given = {
      {"output_range_given", true}, {"given_y_min", -2.0f}, {"given_y_max", 3.0f}};
  OpCase("QuantizedInstanceNorm")
      .Reference([](RefCall<double>& r) {
        const auto& x = r.in[0];
        const int64_t pixels = x.shape.dim(1) * x.shape.dim(2), channels = x.shape.dim(3);
        r.out = {x, Array<double>(Shape{}, {-2}), Array<double>(Shape{}, {3})};
        const double step = (r.in[2][0] - r.in[1][0]) / 255;
        for (int64_t b = 0; b < x.shape.dim(0); ++b) {
          for (int64_t c = 0; c < channels; ++c) {
            const auto at = [&](int64_t p) { return (b * pixels + p) * channels + c; };
            double mean = 0, variance = 0;
            for (int64_t p = 0; p < pixels; ++p) mean += x[at(p)] / static_cast<double>(pixels);
            for (int64_t p = 0; p < pixels; ++p) {
              variance += std::pow((x[at(p)] - mean) * step, 2) / static_cast<double>(pixels);
            }
            for (int64_t p = 0; p < pixels; ++p) {
              const double y = (x[at(p)] - mean) * step / std::sqrt(variance + 1e-5);
              r.out[0][at(p)] = std::clamp(std::round(y * 51) + 102, 0.0, 255.0);
            }
          }
        }
      })
      .Try({In({2, 3, 5, 3}).Range(0, 255), End(-1), End(2)}, given)
      .Bad({In({2, 3, 5}), End(-1), End(2)}, given, Code::kInvalidArgument, "")
      .Bad({In({2, 3, 5, 3}), In({1}), End(2)}, given, Code::kInvalidArgument, "rank")
      .Bad({In({2, 3, 5, 3}), End(-1), End(2)},
           {{"output_range_given", true}, {"given_y_min", 2.0f}, {"given_y_max", 2.0f}},
           Code::kInvalidArgument, "less than")
      .Run();
}

void BatchReference(RefCall<double>& r) {
  const auto real = [&](int operand, int64_t i) {
    const size_t at = 3 * static_cast<size_t>(operand);
    return r.in[at + 1][0] + r.in[at][i] * (r.in[at + 2][0] - r.in[at + 1][0]) / 255;
  };
  const int64_t channels = r.in[3].size();
  Array<double> y(r.in[0].shape);
  const bool scale = r.Attr<bool>("scale_after_normalization");
  for (int64_t i = 0; i < y.size(); ++i) {
    const int64_t c = i % channels;
    const double root = std::sqrt(real(2, c) + 0.001);
    y[i] = std::round(((real(0, i) - real(1, c)) / root * (scale ? real(4, c) : 1) + real(3, c)) *
                      2048);
  }
  r.out = {y, Array<double>(Shape{}, {-1048576}), Array<double>(Shape{}, {1048576})};
}

TEST(QuantizedNormTest, Batch) {
  const In vector = In({3}).Range(1, 255);
  for (const bool scale : {false, true}) {
    const AttrMap attrs = {{"variance_epsilon", 0.001f}, {"scale_after_normalization", scale}};
    OpCase("QuantizedBatchNormWithGlobalNormalization")
        .Reference(BatchReference)
        .Tolerance(DType::kQint32, 2e-3)
        .Try({In({2, 2, 3, 3}).Range(0, 255), End(0), End(2), vector, End(0), End(1), vector,
              End(0), End(2), vector, End(0), End(1), vector, End(0), End(3)},
             attrs)
        .Bad({In({2, 2, 3, 3}), End(0), End(2), In({2}), End(0), End(1), vector, End(0), End(2),
              vector, End(0), End(1), vector, End(0), End(3)},
             attrs, Code::kInvalidArgument, "")
        .Bad({In({2, 3, 3}), End(0), End(2), vector, End(0), End(1), vector, End(0), End(2), vector,
              End(0), End(1), vector, End(0), End(3)},
             attrs, Code::kInvalidArgument, "")
        .Run();
  }
  // As TensorFlow 2.21 computed it, whose fixed-point arithmetic is off by a few levels.
  std::vector<double> image;
  for (int i = 1; i < 7; ++i) image.push_back(5 * i);
  const Tensor two = Levels(DType::kQuint8, {2}, {10, 200});
  std::vector<Tensor> inputs = {Levels(DType::kQuint8, {1, 1, 3, 2}, image)};
  const float ends[] = {-1, 2, 0, 1, 0, 2, -1, 1, 0, 3};
  for (int i = 0; i < 5; ++i) {
    if (i > 0) inputs.push_back(two);
    inputs.push_back(Tensor::Scalar(ends[2 * i]));
    inputs.push_back(Tensor::Scalar(ends[2 * i + 1]));
  }
  ExpectNear(RunFirst("QuantizedBatchNormWithGlobalNormalization", inputs,
                      {{"variance_epsilon", 0.001f},
                       {"scale_after_normalization", true},
                       {"out_type", DType::kQint32}}),
             {-2717, -5237, -2617, -4784, -2516, -4332}, 4);
}

}  // namespace
}  // namespace thalweg
