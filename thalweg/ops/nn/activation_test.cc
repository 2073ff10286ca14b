// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "thalweg/testing/op_case.h"
#include "thalweg/testing/tolerance.h"

namespace thalweg {
namespace {

constexpr double kSeluScale = 1.0507009873554804934193349852946;
constexpr double kSeluAlpha = 1.6732632423543772848170429916717;

template <class F>
void Activation(const char* op, F f, AttrMap attrs = {}) {
  const auto x = [](std::initializer_list<int64_t> dims) {
    return In(dims).Range(-3, 9).Away({0, 6}, 0.05);
  };
  OpCase(op)
      .Elementwise(f)
      .Try({x({7, 31})}, attrs)
      .Try({x({})}, attrs)
      .Try({x({0, 2})}, attrs)
      .Try({In({4}, {0, 6, 7, 1})}, attrs)
      .NoGradient("below, away from the kinks")
      .Trivial("unsigned numbers are never negative")
      .Run();
  OpCase(op).Elementwise(f).Types({{"T", DType::kDouble}}).Try({x({7, 31})}, attrs).Run();
}

TEST(ActivationTest, Values) {
  Activation("Relu", [](double x) { return std::max(x, 0.0); });
  Activation("Relu6", [](double x) { return std::min(std::max(x, 0.0), 6.0); });
  Activation("Elu", [](double x) { return x < 0 ? std::expm1(x) : x; });
  Activation("Selu",
             [](double x) { return kSeluScale * (x < 0 ? kSeluAlpha * std::expm1(x) : x); });
  Activation("Softplus", [](double x) { return std::log1p(std::exp(x)); });
  Activation("Softsign", [](double x) { return x / (1 + std::abs(x)); });
  Activation("LeakyRelu", [](double x) { return x > 0 ? x : 0.3f * x; }, {{"alpha", 0.3f}});
}

// f(gradient, feature or output)
template <class F>
void ActivationGrad(const char* op, F f, AttrMap attrs = {}) {
  const auto x = [](std::initializer_list<int64_t> dims) {
    return In(dims).Range(-0.9, 9).Away({0, 6}, 0.05);
  };
  OpCase(op)
      .Elementwise(f)
      .Tolerance(DType::kHalf, ToleranceOf(OpClass::kActivation, DType::kHalf))
      .Tolerance(DType::kBfloat16, ToleranceOf(OpClass::kActivation, DType::kBfloat16))
      .Try({In({7, 31}), x({7, 31})}, attrs)
      .Try({In({}).Range(1, 2), x({})}, attrs)
      .Try({In({0, 2}), x({0, 2})}, attrs)
      .Bad({In({2}), In({3})}, attrs, Code::kInvalidArgument, "")
      .Run();
}

TEST(ActivationTest, Gradients) {
  ActivationGrad("ReluGrad", [](double g, double x) { return x > 0 ? g : 0; });
  ActivationGrad("Relu6Grad", [](double g, double x) { return x > 0 && x < 6 ? g : 0; });
  ActivationGrad("EluGrad", [](double g, double y) { return y < 0 ? (y + 1) * g : g; });
  ActivationGrad("SeluGrad", [](double g, double y) {
    return y < 0 ? g * (y + kSeluScale * kSeluAlpha) : g * kSeluScale;
  });
  ActivationGrad("SoftplusGrad", [](double g, double x) { return g / (1 + std::exp(-x)); });
  ActivationGrad("SoftsignGrad",
                 [](double g, double x) { return g / ((1 + std::abs(x)) * (1 + std::abs(x))); });
  ActivationGrad("LeakyReluGrad", [](double g, double x) { return x > 0 ? g : 0.3f * g; },
                 {{"alpha", 0.3f}});
}

TEST(ActivationTest, NanStaysNan) {
  for (const char* op : {"Relu", "Relu6", "Elu", "Softplus"}) {
    EXPECT_TRUE(std::isnan((*RunOp(op, {Tensor::Scalar(std::nanf(""))}))[0].scalar<float>())) << op;
  }
}

}  // namespace
}  // namespace thalweg
