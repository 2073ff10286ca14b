// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <initializer_list>
#include <limits>

#include "thalweg/compute/ew/chebyshev.h"
#include "thalweg/compute/ew/inverse_tables.inc"
#include "thalweg/compute/ew/special_functions.h"

namespace thalweg::compute {

// Near 0: r = x / (2 + x), log(1 + x) = 2 (r + r^3 / 3 + r^5 / 5 ...), and x - 2 r = x r.
double LogOvershoot(double x) {
  if (!(std::abs(x) < 0.5)) return x - std::log1p(x);
  const double r = x / (2 + x), r2 = r * r;
  double sum = 0;
  for (int k = 31; k >= 3; k -= 2) sum = sum * r2 + 1.0 / k;
  return x * r - 2 * r * r2 * sum;
}

double LogGammaRatio(double x) {
  if (x < 10) {
    int sign = 0;
    return ::lgamma_r(x, &sign) - ((x - 0.5) * std::log(x) - x + 0.91893853320467274178);
  }
  const double z = 1 / (x * x);  // Stirling's series
  double sum = 1.0 / 156;
  for (const double c : {-691.0 / 360360, 1.0 / 1188, -1.0 / 1680, 1.0 / 1260, -1.0 / 360}) {
    sum = sum * z + c;
  }
  return (sum * z + 1.0 / 12) / x;
}

double DigammaOf(double x) {
  if (x == 0 || (x < 0 && x == std::floor(x))) return std::numeric_limits<double>::quiet_NaN();
  double result = 0;
  if (x < 0) {  // reflection; whole turns are taken away first
    result = -M_PI / std::tan(M_PI * (x - std::rint(x)));
    x = 1 - x;
  }
  for (; x < 10; x += 1) result -= 1 / x;
  const double z = 1 / (x * x);
  double sum = 1.0 / 12;
  for (const double c : {-691.0 / 32760, 1.0 / 132, -1.0 / 240, 1.0 / 252, -1.0 / 120, 1.0 / 12}) {
    sum = sum * z + c;
  }
  return result + std::log(x) - 0.5 / x - sum * z;
}

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
constexpr double kLargeA = 1e5;  // from here on Temme's expansion
constexpr int kMostTerms =
    20000;  // of a sum or continued fraction; below kLargeA some 3000 suffice

// A number and its derivative by a.
struct Dual {
  double value = 0, slope = 0;
};
Dual operator+(Dual p, Dual q) { return {p.value + q.value, p.slope + q.slope}; }
Dual operator-(Dual p, Dual q) { return {p.value - q.value, p.slope - q.slope}; }
Dual operator*(Dual p, Dual q) {
  return {p.value * q.value, p.slope * q.value + p.value * q.slope};
}
Dual operator/(Dual p, Dual q) {
  const double ratio = p.value / q.value;
  return {ratio, (p.slope - ratio * q.slope) / q.value};
}
bool IsSmall(Dual step, Dual of) {
  return std::abs(step.value) <= kEpsilon * std::abs(of.value) &&
         std::abs(step.slope) <= kEpsilon * std::abs(of.slope);
}
bool IsSmall(double step, double of) { return std::abs(step) <= kEpsilon * std::abs(of); }
// Whether a last factor has changed nothing.
bool IsSettled(double factor, double) { return std::abs(factor - 1) <= kEpsilon; }
bool IsSettled(Dual factor, Dual product) {
  return std::abs(factor.value - 1) <= kEpsilon &&
         std::abs(factor.slope * product.value) <= kEpsilon * std::abs(product.slope);
}
double ValueOf(double x) { return x; }
double ValueOf(Dual x) { return x.value; }

// x^a e^-x / gamma(a + 1).
double Front(double a, double x) {
  if (a < 10) {
    int sign = 0;
    if (x < 700) return std::pow(x, a) * std::exp(-x) / std::tgamma(a + 1);
    return std::exp(a * std::log(x) - x - ::lgamma_r(a + 1, &sign));
  }
  return std::exp(-a * LogOvershoot((x - a) / a) - LogGammaRatio(a)) / std::sqrt(2 * M_PI * a);
}
Dual Front(Dual a, double x) {
  const double front = Front(a.value, x);
  return {front, front * (std::log(x) - DigammaOf(a.value + 1))};
}

// The incomplete gamma function by its power series.
template <class T>
T LowerSeries(T a, double x) {
  T term = Front(a, x), sum = term, k = a;
  for (int n = 0; n < kMostTerms; ++n) {
    k = k + T{1};
    term = term * T{x} / k;
    sum = sum + term;
    if (IsSmall(term, sum)) break;
  }
  return sum;
}

// The rest, by Legendre's continued fraction and Lentz' method.
template <class T>
T UpperFraction(T a, double x) {
  const T tiny{1e-300};
  T b = T{x + 1} - a, c = T{1} / tiny, d = T{1} / b, h = d;
  for (int n = 1; n < kMostTerms; ++n) {
    const T step = T{static_cast<double>(n)} * (a - T{static_cast<double>(n)});
    b = b + T{2};
    d = step * d + b;
    if (ValueOf(d) == 0) d = tiny;
    c = b + step / c;
    if (ValueOf(c) == 0) c = tiny;
    d = T{1} / d;
    const T factor = c * d;
    h = h * factor;
    if (IsSettled(factor, h)) break;
  }
  return Front(a, x) * a * h;
}

// Temme's uniform expansion: the error function of y, where y^2 = a (mu - log(1 + mu)), less a
// small rest. Its tail on the lower (sign -1) or upper side; and the slope of the lower one.
struct Temme {
  Temme(double a, double x) {
    const double mu = (x - a) / a;
    overshoot = LogOvershoot(mu);
    eta = std::copysign(std::sqrt(2 * overshoot), mu);
    y = eta * std::sqrt(a / 2);
    const double c0 = Chebyshev(kTemme0, eta, -0.15, 0.15);
    const double c1 = Chebyshev(kTemme1, eta, -0.15, 0.15);
    bell = std::exp(-a * overshoot) / std::sqrt(2 * M_PI * a);
    rest = bell * (c0 + c1 / a);
    const double log = std::log1p(mu);
    // dy/da = -log(x / a) / (2 y), which is -1 / sqrt(2 a) where x = a.
    const double ratio = std::abs(mu) < 1e-9 ? 1 - mu / 6 : log / eta;
    const double eta_slope =
        -(std::abs(mu) < 1e-9 ? 1 - mu * 2 / 3 : mu / eta / (1 + mu)) * (x / a) / a;
    slope =
        -ratio * bell - (rest * (log - 0.5 / a) + bell * (1.0 / 12 - 4 * eta / 135) * eta_slope);
  }
  double lower() const { return IsFar() ? (y > 0) : 0.5 * std::erfc(-y) - rest; }
  double upper() const { return IsFar() ? (y < 0) : 0.5 * std::erfc(y) + rest; }
  // Beyond the interval of the tables both tails are below the smallest number.
  bool IsFar() const { return std::abs(eta) > 0.15; }

  double overshoot, eta, y, bell, rest, slope;
};

bool Outside(double a, double x) { return !(a > 0) || !(x >= 0); }

template <class T>
T Lower(T a, double x) {
  if (x <= 1 || x <= ValueOf(a)) return LowerSeries(a, x);
  return T{1} - UpperFraction(a, x);
}

}  // namespace

double Igamma(double a, double x) {
  if (x == 0) return 0;  // whatever a is
  if (Outside(a, x)) return kNan;
  if (std::isinf(a)) return std::isfinite(x) ? 0 : kNan;
  if (std::isinf(x)) return 1;
  return a < kLargeA ? Lower(a, x) : Temme(a, x).lower();
}

double Igammac(double a, double x) {
  if (Outside(a, x)) return kNan;
  if (x == 0 || std::isinf(a)) return x == 0 || std::isfinite(x) ? 1 : kNan;
  if (std::isinf(x)) return 0;
  if (a >= kLargeA) return Temme(a, x).upper();
  return x <= 1 || x <= a ? 1 - LowerSeries(a, x) : UpperFraction(a, x);
}

double IgammaGradA(double a, double x) {
  if (x == 0) return 0;
  if (Outside(a, x) || std::isinf(a)) return kNan;
  if (std::isinf(x)) return 0;
  if (a >= kLargeA) {
    const Temme temme(a, x);
    return temme.IsFar() ? 0 : temme.slope;
  }
  return Lower(Dual{a, 1}, x).slope;
}

}  // namespace thalweg::compute
