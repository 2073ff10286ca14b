// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>

#include "thalweg/testing/op_case.h"

namespace thalweg {
namespace {

// A case of z = f(a, x), a in [low_a, high_a] and x in [low, high].
template <class F>
OpCase Special(const char* op, F f, double low_a, double high_a, double low, double high) {
  const auto a = [=](std::initializer_list<int64_t> dims) { return In(dims).Range(low_a, high_a); };
  const auto x = [=](std::initializer_list<int64_t> dims) { return In(dims).Range(low, high); };
  OpCase made(op);
  made.Elementwise(f)
      .Try({a({7, 31}), x({7, 31})})
      .Try({a({2, 1}), x({1, 700})})
      .Try({a({}), x({31})})
      .Try({a({}), x({})})
      .Try({In({0, 3}), x({3})})
      .Bad({In({2, 3}), In({2})}, {}, Code::kInvalidArgument, "");
  return made;
}

// The sum x^a e^-x (1 + x / (a + 1) + ...) / gamma(a + 1).
double LowerGamma(double a, double x) {
  long double term = 1, sum = 1;
  for (int k = 1; k < 500; ++k) {
    term *= x / (a + k);
    sum += term;
  }
  return static_cast<double>(sum * std::exp(a * std::log(x) - x - std::lgamma(a + 1)));
}

TEST(SpecialBinaryTest, IncompleteGamma) {
  Special("Igamma", LowerGamma, 0.5, 9, 0.2, 12).GradStep(1e-5, 1e-4).Run();
  Special(
      "Igammac", [](double a, double x) { return 1 - LowerGamma(a, x); }, 0.5, 9, 0.2, 12)
      .GradStep(1e-5, 1e-4)
      .Run();
  Special(
      "IgammaGradA",
      [](double a, double x) {
        // Differences of the fourth order.
        constexpr double h = 1e-3;
        return (8 * (LowerGamma(a + h, x) - LowerGamma(a - h, x)) -
                (LowerGamma(a + 2 * h, x) - LowerGamma(a - 2 * h, x))) /
               (12 * h);
      },
      0.5, 9, 0.2, 12)
      .Tolerance(DType::kDouble, 1e-8)
      .Run();
}

// The sum of (q + k)^-x: terms, then an integral from the middle of the last.
double PlainZeta(double x, double q) {
  double sum = 0;
  int k = 0;
  for (; k < 2000; ++k) sum += std::pow(q + k, -x);
  const double at = q + k - 0.5;
  return sum + std::pow(at, 1 - x) / (x - 1) - x * std::pow(at, -x - 1) / 24;
}

TEST(SpecialBinaryTest, Zeta) {
  Special("Zeta", PlainZeta, 1.5, 5, 0.3, 9).Tolerance(DType::kDouble, 1e-10).GradInputs({1}).Run();
  OpCase("Polygamma")
      .Elementwise([](double n, double x) {
        return (std::fmod(n, 2) == 0 ? -1 : 1) * std::tgamma(n + 1) * PlainZeta(n + 1, x);
      })
      .GradInputs({1})
      .Tolerance(DType::kDouble, 1e-10)
      .GradStep(1e-5, 1e-4)
      .Try({In({4, 1}, {1, 2, 3, 4}), In({31}).Range(0.5, 9)})
      .Try({In({}, {1}), In({}, {3})})
      .Try({In({0}), In({1})})
      .Bad({In({2}), In({3})}, {}, Code::kInvalidArgument, "")
      .Run();
}

TEST(SpecialBinaryTest, Xlog1py) {
  Special(
      "Xlog1py", [](auto x, auto y) { return std::abs(x) == 0 ? x : x * std::log(1.0 + y); }, 0.5,
      3, -0.6, 3)
      .Run();
  OpCase("Xlog1py")
      .Elementwise([](auto x, auto y) { return std::abs(x) == 0 ? x : x * std::log(1.0 + y); })
      .NoGradient("the derivative by x jumps where x is 0")
      .Try({In({3}, {0, 0, 2}), In({3}, {-1, 1, 3})})
      .Run();
}

TEST(SpecialBinaryTest, NextAfter) {
  OpCase("NextAfter")
      .Types({{"T", DType::kDouble}})
      .Elementwise([](double a, double b) { return std::nextafter(a, b); })
      .Tolerance(DType::kDouble, 0)
      .Try({In({7, 31}), In({31})})
      .Try({In({}), In({})})
      .Try({In({0}), In({1})})
      .Bad({In({2}), In({3})}, {}, Code::kInvalidArgument, "")
      .Run();
  const auto next = [](float a, float b) {
    return (*RunOp("NextAfter", {Tensor::Scalar(a), Tensor::Scalar(b)}))[0].scalar<float>();
  };
  EXPECT_EQ(next(0, 1), std::numeric_limits<float>::denorm_min());
  EXPECT_EQ(next(1, 0), std::nextafterf(1, 0));
  EXPECT_EQ(next(INFINITY, 0), std::numeric_limits<float>::max());
  EXPECT_EQ(next(2, 2), 2);
}

TEST(SpecialBinaryTest, IncompleteBeta) {
  // For whole b the power series in x ends.
  const auto beta = [](double a, double b, double x) {
    double sum = 0, binomial = 1;
    for (int k = 0; k < b; ++k) {
      sum += binomial * std::pow(x, a + k) / (a + k);
      binomial *= -(b - 1 - k) / (k + 1);
    }
    return sum * std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b));
  };
  OpCase("Betainc")
      .Reference([beta](RefCall<double>& r) {
        const Shape shape =
            BroadcastShape(BroadcastShape(r.in[0].shape, r.in[1].shape), r.in[2].shape);
        r.out = {Array<double>(shape)};
        ForEachIndex(shape, [&](const std::vector<int64_t>& at) {
          r.out[0].At(at) = beta(r.in[0].At(at), r.in[1].At(at), r.in[2].At(at));
        });
      })
      .GradInputs({2})
      .GradStep(1e-6, 1e-4)
      .Try({In({5}).Range(0.5, 4), In({5}, {1, 2, 3, 4, 5}), In({5}).Range(0.1, 0.9)})
      .Try({In({}, {1.5}), In({}, {3}), In({2, 600}).Range(0.1, 0.9)})
      .Try({In({3}, {1, 2, 3}), In({}, {3}), In({}, {0.25})})
      .Try({In({}, {1.5}), In({}, {3}), In({}, {0.25})})
      .Try({In({0}), In({}, {3}), In({0})})
      .Bad({In({2}), In({3}), In({})}, {}, Code::kInvalidArgument, "one shape")
      .Bad({In({2, 1}), In({2}), In({})}, {}, Code::kInvalidArgument, "one shape")
      .Run();
}

}  // namespace
}  // namespace thalweg
