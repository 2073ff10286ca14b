// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "thalweg/testing/op_case.h"
#include "thalweg/testing/tolerance.h"

namespace thalweg {
namespace {

// Element sums by channel and what follows from them.
struct Channels {
  int dim;
  int64_t n;
  double count;
  explicit Channels(const RefCall<double>& r, const Shape& x)
      : dim(r.Attr<std::string>("data_format")[1] == 'C' ? 1 : x.rank() - 1),
        n(x.dim(dim)),
        count(static_cast<double>(x.num_elements()) / static_cast<double>(n)) {}
};

void Forward(RefCall<double>& r) {
  const Array<double>& x = r.in[0];
  const Channels ch(r, x.shape);
  const bool training = r.Attr<bool>("is_training");
  const double epsilon = r.Attr<float>("epsilon"), f = r.Attr<float>("exponential_avg_factor");
  Array<double> mean(Shape{ch.n}), variance(Shape{ch.n});
  ForEachIndex(x.shape, [&](const auto& at) { mean[at[ch.dim]] += x.At(at) / ch.count; });
  ForEachIndex(x.shape, [&](const auto& at) {
    variance[at[ch.dim]] += std::pow(x.At(at) - mean[at[ch.dim]], 2) / ch.count;
  });
  if (!training) {
    mean = r.in[3];
    variance = r.in[4];
  }
  Array<double> y(x.shape), running_mean = mean, running_variance = variance;
  ForEachIndex(x.shape, [&](const auto& at) {
    const int64_t c = at[ch.dim];
    y.At(at) = (x.At(at) - mean[c]) / std::sqrt(variance[c] + epsilon) * r.in[1][c] + r.in[2][c];
  });
  for (int64_t c = 0; training && c < ch.n; ++c) {
    running_variance[c] *= ch.count / std::max(1.0, ch.count - 1);
    if (f == 1) continue;
    running_mean[c] = f * running_mean[c] + (1 - f) * r.in[3][c];
    running_variance[c] = f * running_variance[c] + (1 - f) * r.in[4][c];
  }
  r.out = {y, running_mean, running_variance, mean, variance};
  if (r.node->num_outputs() == 6) r.out.emplace_back(Shape{0});
}

TEST(BatchNormTest, Volumes) {
  const auto vector = [](int64_t n) { return In({n}).Range(0.5, 2); };
  OpCase("FusedBatchNormV3")
      .Reference(Forward)
      .Tolerance(DType::kHalf, ToleranceOf(OpClass::kBatchNorm, DType::kHalf))
      .Tolerance(DType::kBfloat16, ToleranceOf(OpClass::kBatchNorm, DType::kBfloat16))
      .GradOutputs({0})
      .GradInputs({0, 1, 2})
      .GradStep(1e-2, 2e-2)
      .Try({In({2, 3, 4, 5, 3}), vector(3), vector(3), vector(3), vector(3)},
           {{"data_format", "NDHWC"}, {"exponential_avg_factor", 0.25f}})
      .Try({In({2, 3, 3, 4, 5}), vector(3), vector(3), vector(3), vector(3)},
           {{"data_format", "NCDHW"}, {"exponential_avg_factor", 0.25f}})
      .Bad({In({2, 3, 4, 3}), vector(3), vector(3), vector(3), vector(3)},
           {{"data_format", "NDHWC"}}, Code::kInvalidArgument, "")
      .Run();
}

TEST(BatchNormTest, Forward) {
  const auto vector = [](int64_t n) { return In({n}).Range(0.5, 2); };
  const AttrMap inference = {{"is_training", false}}, first = {{"data_format", "NCHW"}};
  const AttrMap average = {{"exponential_avg_factor", 0.25f}};
  for (const char* op : {"FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"}) {
    OpCase(op)
        .Reference(Forward)
        .Tolerance(DType::kHalf, ToleranceOf(OpClass::kBatchNorm, DType::kHalf))
        .Tolerance(DType::kBfloat16, ToleranceOf(OpClass::kBatchNorm, DType::kBfloat16))
        .GradOutputs({0})
        .GradInputs({0, 1, 2})
        .GradStep(1e-2, 2e-2)
        .Try({In({2, 3, 5, 7}), vector(7), In({7}), In({0}), In({0})})
        .Try({In({2, 7, 3, 5}), vector(7), In({7}), In({0}), In({0})}, first)
        .Try({In({2, 3, 5, 7}), vector(7), In({7}), In({7}), vector(7)}, inference)
        .Try({In({2, 3, 5, 7}), vector(7), In({7}), In({7}), vector(7)}, average)
        .Bad({In({2, 3, 5, 7}), vector(6), In({7}), In({0}), In({0})}, {}, Code::kInvalidArgument,
             "Dimensions must be equal, but are 7 and 6 for ",
             "scale must have the same number of elements as the channels of x, got 6 and 7")
        .Bad({In({2, 3, 5, 7}), vector(7), In({7}), In({0}), In({0})}, inference,
             Code::kInvalidArgument, "mean")
        .Bad({In({3, 5, 7}), vector(7), In({7}), In({0}), In({0})}, {}, Code::kInvalidArgument, "")
        .Run();
  }
}

void Backward(RefCall<double>& r) {
  const Array<double>&dy = r.in[0], &x = r.in[1], &mean = r.in[3], &variance = r.in[4];
  const Channels ch(r, x.shape);
  const bool training = r.Attr<bool>("is_training");
  const double epsilon = r.Attr<float>("epsilon");
  Array<double> dx(x.shape), dscale(Shape{ch.n}), doffset(Shape{ch.n});
  const auto normal = [&](const std::vector<int64_t>& at) {
    const int64_t c = at[ch.dim];
    return (x.At(at) - mean[c]) / std::sqrt(variance[c] + epsilon);
  };
  ForEachIndex(x.shape, [&](const auto& at) {
    doffset[at[ch.dim]] += dy.At(at);
    dscale[at[ch.dim]] += dy.At(at) * normal(at);
  });
  ForEachIndex(x.shape, [&](const auto& at) {
    const int64_t c = at[ch.dim];
    const double pull = training ? (doffset[c] + normal(at) * dscale[c]) / ch.count : 0;
    dx.At(at) = r.in[2][c] / std::sqrt(variance[c] + epsilon) * (dy.At(at) - pull);
  });
  r.out = {dx, dscale, doffset, Array<double>(Shape{0}), Array<double>(Shape{0})};
}

TEST(BatchNormTest, Backward) {
  const auto vector = [](int64_t n) { return In({n}).Range(0.5, 2); };
  for (const char* op : {"FusedBatchNormGrad", "FusedBatchNormGradV2", "FusedBatchNormGradV3"}) {
    const auto inputs = [&](In dy, In x, int64_t n) {
      std::vector<In> made = {dy, x, vector(n), In({n}), vector(n)};
      if (std::string_view(op).ends_with("V3")) made.push_back(In({0}));
      return made;
    };
    OpCase(op)
        .Reference(Backward)
        .NoGradient("second derivatives: test_second_derivatives.py, by differences")
        .Tolerance(DType::kHalf, ToleranceOf(OpClass::kBatchNorm, DType::kHalf))
        .Tolerance(DType::kBfloat16, ToleranceOf(OpClass::kBatchNorm, DType::kBfloat16))
        .Try(inputs(In({2, 3, 5, 7}), In({2, 3, 5, 7}), 7))
        .Try(inputs(In({2, 7, 3, 5}), In({2, 7, 3, 5}), 7), {{"data_format", "NCHW"}})
        .Try(inputs(In({2, 3, 5, 7}), In({2, 3, 5, 7}), 7), {{"is_training", false}})
        .Bad(inputs(In({2, 3, 5, 7}), In({2, 3, 4, 7}), 7), {}, Code::kInvalidArgument, "")
        .Bad(inputs(In({2, 3, 5, 7}), In({2, 3, 5, 7}), 0), {}, Code::kInvalidArgument,
             "Dimensions must be equal, but are 7 and 0 for ", "")
        .Run();
  }
}

TEST(BatchNormTest, TheMomentsOfNothingAreNotNumbers) {
  const Tensor x = Tensor::Of<float>({}, Shape{0, 2, 2, 1});
  const Tensor one = Tensor::Vector<float>({1}), none = Tensor::Of<float>({}, Shape{0});
  const std::vector<Tensor> out = *RunOp("FusedBatchNorm", {x, one, one, none, none});
  EXPECT_TRUE(std::isnan(out[1].data<float>()[0]));
  EXPECT_TRUE(std::isnan(out[2].data<float>()[0]));
}

void ForwardThenRelu(RefCall<double>& r) {
  Forward(r);
  Array<double>& y = r.out[0];
  const bool relu = r.Attr<std::string>("activation_mode") == "Relu";
  for (int64_t i = 0; i < y.shape.num_elements(); ++i) {
    if (r.in.size() == 6) y[i] += r.in[5][i];
    if (relu) y[i] = std::max(0.0, y[i]);
  }
}

TEST(BatchNormTest, ForwardWithSideInputAndRelu) {
  const auto vector = [](int64_t n) { return In({n}).Range(0.5, 2); };
  const In x({2, 3, 5, 7}), none({0});
  const AttrMap relu = {{"activation_mode", "Relu"}};
  OpCase("_FusedBatchNormEx")
      .Reference(ForwardThenRelu)
      .Tolerance(DType::kHalf, ToleranceOf(OpClass::kBatchNorm, DType::kHalf))
      .Tolerance(DType::kBfloat16, ToleranceOf(OpClass::kBatchNorm, DType::kBfloat16))
      .Try({x, vector(7), In({7}), none, none})
      .Try({x, vector(7), In({7}), none, none}, relu)
      .Try({x, vector(7), In({7}), none, none, x}, {{"num_side_inputs", 1}})
      .Try({x, vector(7), In({7}), none, none, x},
           {{"num_side_inputs", 1}, {"activation_mode", "Relu"}})
      .Try({In({2, 7, 3, 5}), vector(7), In({7}), none, none},
           {{"data_format", "NCHW"}, {"activation_mode", "Relu"}})
      .Bad({x, vector(7), In({7}), none, none, In({2, 3, 5, 1})}, {{"num_side_inputs", 1}},
           Code::kInvalidArgument, "side_input")
      .Bad({x, vector(7), In({7}), none, none}, {{"activation_mode", "Tanh"}},
           Code::kInvalidArgument, "activation_mode")
      .Run();
}

void ReluThenBackward(RefCall<double>& r) {
  const Array<double>&x = r.in[1], &mean = r.in[3], &variance = r.in[4];
  const Channels ch(r, x.shape);
  if (r.Attr<std::string>("activation_mode") == "Relu") {
    ForEachIndex(x.shape, [&](const auto& at) {
      const int64_t c = at[ch.dim];
      const double deviation = std::sqrt(variance[c] + r.Attr<float>("epsilon"));
      const double y = (x.At(at) - mean[c]) / deviation * r.in[2][c] + r.in[6][c];
      if (!(y > 0)) r.in[0].At(at) = 0;
    });
  }
  Backward(r);
}

TEST(BatchNormTest, BackwardThroughRelu) {
  const auto vector = [](int64_t n) { return In({n}).Range(0.5, 2); };
  const auto inputs = [&](In x, In y) {
    return std::vector<In>{x, x, vector(7), In({7}), vector(7), In({0}), In({7}), y};
  };
  const In x({2, 3, 5, 7}), first({2, 7, 3, 5});
  OpCase("_FusedBatchNormGradEx")
      .Reference(ReluThenBackward)
      .Try(inputs(x, x))
      .Try(inputs(x, x), {{"activation_mode", "Relu"}})
      .Try(inputs(x, x), {{"activation_mode", "Relu"}, {"is_training", false}})
      .Try(inputs(first, first), {{"activation_mode", "Relu"}, {"data_format", "NCHW"}})
      .Run();
}

}  // namespace
}  // namespace thalweg
