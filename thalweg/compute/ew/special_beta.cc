// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "thalweg/compute/ew/special_functions.h"

namespace thalweg::compute {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
constexpr int kMostTerms = 50000;

// x^a (1 - x)^b / B(a, b).
double BetaFront(double a, double b, double x) {
  if (a < 1 || b < 1) {
    int sign = 0;
    const double log_beta = ::lgamma_r(a, &sign) + ::lgamma_r(b, &sign) - ::lgamma_r(a + b, &sign);
    return std::exp(a * std::log(x) + b * std::log1p(-x) - log_beta);
  }
  // Relative to the peak at a / (a + b), so that large terms do not cancel.
  const double d = b * x - a * (1 - x);
  const double log = a * LogOvershoot(d / a) + b * LogOvershoot(-d / b);
  const double gammas = LogGammaRatio(a + b) - LogGammaRatio(a) - LogGammaRatio(b);
  return std::sqrt(a / (a + b) * b / (2 * M_PI)) * std::exp(gammas - log);
}

// The continued fraction of the incomplete beta function, for x below (a + 1) / (a + b + 2).
double BetaFraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  const auto not_zero = [](double v) { return v == 0 ? kTiny : v; };
  double c = 1, d = 1 / not_zero(1 - (a + b) * x / (a + 1)), h = d;
  for (int n = 1; n < kMostTerms; ++n) {
    const double m = n, even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / not_zero(1 + even * d);
    c = not_zero(1 + even / c);
    h *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / not_zero(1 + odd * d);
    c = not_zero(1 + odd / c);
    const double factor = d * c;
    h *= factor;
    if (!(std::abs(factor - 1) > kEpsilon)) break;
  }
  return h;
}

}  // namespace

double Betainc(double a, double b, double x) {
  if (!(a > 0) || !(b > 0) || !(x >= 0 && x <= 1) || std::isinf(a) || std::isinf(b)) return kNan;
  if (x == 0 || x == 1) return x;
  const double front = BetaFront(a, b, x);
  const double result = x < (a + 1) / (a + b + 2) ? front * BetaFraction(a, b, x) / a
                                                  : 1 - front * BetaFraction(b, a, 1 - x) / b;
  return std::isnan(result) ? result : std::clamp(result, 0.0, 1.0);
}

double Xlog1py(double x, double y) { return x == 0 ? 0 : x * std::log1p(y); }

namespace {

// Bernoulli's numbers 2, 4, ... over the factorials of 2, 4, ...
constexpr double kBernoulli[] = {
    1.0 / 12,
    -1.0 / 720,
    1.0 / 30240,
    -1.0 / 1209600,
    1.0 / 47900160,
    -691.0 / 1307674368000.0,
    1.0 / 74724249600.0,
    -3617.0 / 10670622842880000.0,
    43867.0 / 5109094217170944000.0,
    -174611.0 / 802857662698291200000.0,
};

// By the sum of Euler and Maclaurin, for x > 1 and q > 0. Terms are added one by one until the rest
// converges fast (or is nothing), which is after at most some 20 + x / 2.
double PositiveZeta(double x, double q) {
  double sum = 0;
  const double enough = std::max(10.0, x / 2);
  for (int k = 0; k < 10 || q < enough; ++k, q += 1) {
    const double term = std::pow(q, -x);
    sum += term;
    if (!(term > kEpsilon / 4 * sum)) return sum;
  }
  const double power = std::pow(q, -x);
  sum += power * q / (x - 1) + power / 2;
  double factor = power * x / q;
  for (int k = 0; k < 10; ++k) {
    const double term = kBernoulli[k] * factor;
    sum += term;
    if (!(std::abs(term) > kEpsilon / 4 * sum)) break;
    factor *= (x + 2 * k + 1) * (x + 2 * k + 2) / (q * q);
  }
  return sum;
}

}  // namespace

double Zeta(double x, double q) {
  if (std::isnan(x) || std::isnan(q) || x < 1) return kNan;
  if (x == 1) return kInf;
  if (q > 0) return PositiveZeta(x, q);
  if (x != std::floor(x)) return kNan;
  if (q == std::floor(q)) return kInf;
  // The terms below zero, q, q + 1 ... -least, are the difference of two sums above it.
  const double below = std::ceil(-q), first = q + below, least = 1 - first;
  const double negative = PositiveZeta(x, least) - PositiveZeta(x, 1 - q);
  return PositiveZeta(x, first) + (std::fmod(x, 2) == 0 ? negative : -negative);
}

double PolygammaOf(double n, double x) {
  if (!(n >= 0) || n != std::floor(n)) return kNan;
  if (n == 0) return DigammaOf(x);
  const double size = std::tgamma(n + 1) * Zeta(n + 1, x);
  return std::fmod(n, 2) == 0 ? -size : size;
}

}  // namespace thalweg::compute
