// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>

#include "thalweg/testing/op_case.h"
#include "thalweg/testing/tolerance.h"

namespace thalweg {
namespace {

// A case of y = f(x) on values in [low, high].
template <class F>
OpCase Unary(const char* op, F f, double low = -2, double high = 2) {
  OpCase made(op);
  made.Elementwise(f)
      .Tolerance(DType::kHalf, ToleranceOf(OpClass::kFunction, DType::kHalf))
      .Tolerance(DType::kBfloat16, ToleranceOf(OpClass::kFunction, DType::kBfloat16))
      .Try({In({7, 31}).Range(low, high)})
      .Try({In({1}).Range(low, high)})
      .Try({In({}).Range(low, high)})
      .Try({In({0, 3})})
      .Try({In({2, 0})});
  return made;
}

TEST(UnaryTest, Plain) {
  Unary("Neg", [](auto x) { return -x; }).Run();
  Unary(
      "Abs", [](double x) { return std::abs(x); }, -9, 9)
      .Run();
  Unary(
      "Square", [](auto x) { return x * x; }, -11, 11)
      .Run();
  Unary("Sign", [](auto x) {
    if constexpr (std::is_same_v<decltype(x), double>) {
      return double((x > 0) - (x < 0));
    } else {
      return std::abs(x) == 0 ? x : x / std::abs(x);
    }
  }).Run();
  OpCase("Conj")
      .Skip(DType::kVariant, "of variants that know how: ops/sparse/csr_product_test.cc")
      .Elementwise([](auto x) {
        if constexpr (std::is_same_v<decltype(x), double>) {
          return x;
        } else {
          return std::conj(x);
        }
      })
      .Try({In({7, 31})})
      .Try({In({0})})
      .Run();
}

TEST(UnaryTest, Roots) {
  Unary(
      "Sqrt", [](auto x) { return std::sqrt(x); }, 0.2, 4)
      .Run();
  Unary(
      "Rsqrt", [](auto x) { return 1.0 / std::sqrt(x); }, 0.2, 4)
      .Run();
  for (const char* op : {"Reciprocal", "Inv"}) {
    Unary(
        op, [](auto x) { return 1.0 / x; }, 0.5, 4)
        .Run();
  }
}

TEST(UnaryTest, Exponentials) {
  Unary("Exp", [](auto x) { return std::exp(x); }).Run();
  Unary("Expm1", [](auto x) {
    if constexpr (std::is_same_v<decltype(x), double>) {
      return std::expm1(x);
    } else {
      return std::exp(x) - 1.0;
    }
  }).Run();
  Unary(
      "Log", [](auto x) { return std::log(x); }, 0.2, 9)
      .Run();
  Unary(
      "Log1p",
      [](auto x) {
        if constexpr (std::is_same_v<decltype(x), double>) {
          return std::log1p(x);
        } else {
          return std::log(1.0 + x);
        }
      },
      -0.5, 9)
      .Run();
  Unary(
      "Tanh", [](auto x) { return std::tanh(x); }, -4, 4)
      .Run();
  Unary(
      "Sigmoid", [](auto x) { return 1.0 / (1.0 + std::exp(-x)); }, -6, 6)
      .Run();
}

TEST(UnaryTest, Angles) {
  Unary(
      "Sin", [](auto x) { return std::sin(x); }, -9, 9)
      .Run();
  Unary(
      "Cos", [](auto x) { return std::cos(x); }, -9, 9)
      .Run();
  Unary(
      "Tan", [](auto x) { return std::tan(x); }, -1.2, 1.2)
      .Run();
  Unary(
      "Asin", [](auto x) { return std::asin(x); }, -0.9, 0.9)
      .Run();
  Unary(
      "Acos", [](auto x) { return std::acos(x); }, -0.9, 0.9)
      .Run();
  Unary(
      "Atan", [](auto x) { return std::atan(x); }, -4, 4)
      .Run();
  Unary("Sinh", [](auto x) { return std::sinh(x); }).Run();
  Unary("Cosh", [](auto x) { return std::cosh(x); }).Run();
  Unary("Asinh", [](auto x) { return std::asinh(x); }).Run();
  Unary(
      "Acosh", [](auto x) { return std::acosh(x); }, 1.1, 5)
      .Run();
  Unary(
      "Atanh", [](auto x) { return std::atanh(x); }, -0.9, 0.9)
      .Run();
}

TEST(UnaryTest, Special) {
  Unary(
      "Erf", [](double x) { return std::erf(x); }, -3, 3)
      .Run();
  Unary(
      "Erfc", [](double x) { return std::erfc(x); }, -3, 3)
      .Run();
  Unary(
      "Lgamma", [](double x) { return std::lgamma(x); }, 0.3, 5)
      .GradStep(1e-5, 1e-4)
      .Run();
  Unary(
      "Digamma",
      [](double x) {
        const double h = 1e-4;
        return (std::lgamma(x + h) - std::lgamma(x - h)) / (2 * h);
      },
      1, 5)
      .Tolerance(DType::kDouble, 1e-7)
      .NoGradient("it needs Polygamma, which has no kernel")
      .Run();
}

TEST(UnaryTest, Rounding) {
  Unary(
      "Floor", [](double x) { return std::floor(x); }, -9, 9)
      .Run();
  Unary(
      "Ceil", [](double x) { return std::ceil(x); }, -9, 9)
      .Run();
  for (const char* op : {"Round", "Rint"}) {
    Unary(
        op, [](double x) { return std::nearbyint(x); }, -9, 9)
        .Try({In({6}, {0.5, 1.5, 2.5, -0.5, -1.5, -2.5})})
        .Trivial("integers are round already")
        .Run();
  }
}

TEST(UnaryTest, Tests) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  const std::vector<double> corners = {0, -0.0, 1, -inf, inf, nan, -nan, 3};
  Unary("IsNan", [](double x) { return double(std::isnan(x)); }).Try({In({8}, corners)}).Run();
  Unary("IsInf", [](double x) { return double(std::isinf(x)); }).Try({In({8}, corners)}).Run();
  Unary("IsFinite", [](double x) { return double(std::isfinite(x)); })
      .Try({In({8}, corners)})
      .Run();
  Unary("LogicalNot", [](double x) { return double(x == 0); }).Run();
  Unary(
      "Invert", [](double x) { return -x - 1; }, -9, 9)
      .Run();
}

// y and dy; the case of a gradient operation.
template <class F>
void GradientOp(const char* op, F f) {
  OpCase(op)
      .Elementwise(f)
      .Tolerance(DType::kHalf, ToleranceOf(OpClass::kArithmetic, DType::kHalf))
      .Tolerance(DType::kBfloat16, ToleranceOf(OpClass::kArithmetic, DType::kBfloat16))
      .Try({In({7, 31}).Range(0.3, 2), In({7, 31})})
      .Try({In({}).Range(0.3, 2), In({})})
      .Try({In({0, 4}), In({0, 4})})
      .Bad({In({3}), In({4})}, {}, Code::kInvalidArgument, "")
      .Run();
}

template <class V>
V Conj(V x) {
  if constexpr (std::is_same_v<V, double>) {
    return x;
  } else {
    return std::conj(x);
  }
}

// TensorFlow's roots and reciprocals of complex numbers conjugate y themselves, the others do not.
TEST(UnaryTest, GradientsFromTheOutput) {
  GradientOp("TanhGrad", [](auto y, auto dy) { return dy * (1.0 - y * y); });
  GradientOp("SigmoidGrad", [](auto y, auto dy) { return dy * y * (1.0 - y); });
  GradientOp("SqrtGrad", [](auto y, auto dy) { return 0.5 * dy / Conj(y); });
  GradientOp("RsqrtGrad", [](auto y, auto dy) { return -0.5 * dy * Conj(y * y * y); });
  GradientOp("ReciprocalGrad", [](auto y, auto dy) { return -dy * Conj(y * y); });
  GradientOp("InvGrad", [](auto y, auto dy) { return -dy * Conj(y * y); });
}

TEST(UnaryTest, Corners) {
  const float inf = std::numeric_limits<float>::infinity();
  const auto run = [](const char* op, float x) {
    return (*RunOp(op, {Tensor::Scalar(x)}))[0].scalar<float>();
  };
  EXPECT_EQ(run("Exp", -200), 0);
  EXPECT_EQ(run("Exp", inf), inf);
  EXPECT_EQ(run("Log", 0), -inf);
  EXPECT_TRUE(std::isnan(run("Log", -1)));
  EXPECT_FLOAT_EQ(run("Tanh", 1000), 1);
  EXPECT_EQ(run("Sigmoid", -1000), 0);
  EXPECT_TRUE(std::isnan(run("Tanh", std::nanf(""))));
  EXPECT_TRUE(std::isnan(run("Sigmoid", std::nanf(""))));
  const int32_t least = std::numeric_limits<int32_t>::min();
  EXPECT_EQ((*RunOp("Neg", {Tensor::Scalar(least)}))[0].scalar<int32_t>(), least);
  EXPECT_EQ((*RunOp("Abs", {Tensor::Scalar(least)}))[0].scalar<int32_t>(), least);
}

}  // namespace
}  // namespace thalweg
