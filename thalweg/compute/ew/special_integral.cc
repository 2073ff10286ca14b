// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "thalweg/compute/ew/chebyshev.h"
#include "thalweg/compute/ew/integral_tables.inc"
#include "thalweg/compute/ew/inverse_tables.inc"
#include "thalweg/compute/ew/special_functions.h"

namespace thalweg::compute {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// x e^-x Ei(x) for x > 6.
double EiScaled(double x) {
  if (x <= 12) return Chebyshev(kEiMiddle, x, 6, 12);
  if (x <= 24) return Chebyshev(kEiUpper, x, 12, 24);
  if (x <= 60) return Chebyshev(kEiHigh, 24 / x, 0.4, 1);
  return Chebyshev(kEiFar, 60 / x, 0, 1);
}

struct Angle {
  double sine, cosine;
};

// The angle pi x^2 / 2; the square is made exact before whole turns are taken away.
Angle HalfPiSquared(double x) {
  const double high = x * x, low = std::fma(x, x, -high);
  const double turns = std::fmod(high, 4) + low;
  const double quarter = std::rint(turns);
  const double rest = M_PI_2 * (turns - quarter);
  const double s = std::sin(rest), c = std::cos(rest);
  switch (static_cast<int>(quarter) & 3) {
    case 0:
      return {s, c};
    case 1:
      return {c, -s};
    case 2:
      return {-s, -c};
    default:
      return {-c, s};
  }
}

// The auxiliary functions f and g of the Fresnel integrals, for x >= 1.5.
void FresnelTails(double x, double* f, double* g) {
  const double near = std::pow(1.5 / x, 4), far = std::pow(3 / x, 4);
  const double scaled_f =
      x <= 3 ? Chebyshev(kFresnelFMiddle, near, 0.0625, 1) : Chebyshev(kFresnelFFar, far, 0, 1);
  const double scaled_g =
      x <= 3 ? Chebyshev(kFresnelGMiddle, near, 0.0625, 1) : Chebyshev(kFresnelGFar, far, 0, 1);
  *f = scaled_f / (M_PI * x);
  *g = scaled_g / (M_PI * M_PI * x * x * x);
}

constexpr double kFresnelNear = 1.5;
constexpr double kFresnelFlat = 1e16;  // from here on both are 1/2 to the last bit

// w > 0 with the probability exp(-z^2 / 2) above it, for z >= 1.
double NormalTail(double z) {
  if (z <= 2) return z + Chebyshev(kNormalTail1, z, 1, 2);
  if (z <= 4) return z + Chebyshev(kNormalTail2, z, 2, 4);
  if (z <= 10) return z + Chebyshev(kNormalTail3, z, 4, 10);
  return z + Chebyshev(kNormalTail4, z, 10, 40);
}

}  // namespace

double Dawsn(double x) {
  const double a = std::abs(x);
  if (a <= 1) return x * Chebyshev(kDawsonNear, x * x, 0, 1);
  if (a <= 3) return std::copysign(Chebyshev(kDawsonMiddle, a, 1, 3), x);
  if (a <= 5) return std::copysign(Chebyshev(kDawsonUpper, a, 3, 5), x);
  const double u = 5 / a;
  return Chebyshev(kDawsonFar, u * u, 0, 1) / (2 * x);
}

double Expint(double x) {
  if (x == 0) return -kInf;
  if (x < 0) return kNan;
  if (x <= 6) {
    const double from_root = (x - kEiRoot) - kEiRootLow;
    const double ratio = from_root / kEiRoot;
    const double log = std::abs(ratio) < 0.5 ? std::log1p(ratio) : std::log(x / kEiRoot);
    return from_root * Chebyshev(kEiNear, x, 0, 6) + log;
  }
  if (std::isinf(x)) return x;
  const double root = std::exp(x / 2);  // e^x may overflow where Ei does not
  return root / x * EiScaled(x) * root;
}

double FresnelSin(double x) {
  const double a = std::abs(x);
  if (a < kFresnelNear) {
    const double z = x * x;
    return z * x * Chebyshev(kFresnelSNear, z * z, 0, 5.0625);
  }
  if (a > kFresnelFlat) return std::copysign(0.5, x);
  double f = 0, g = 0;
  FresnelTails(a, &f, &g);
  const Angle t = HalfPiSquared(a);
  return std::copysign(0.5 - f * t.cosine - g * t.sine, x);
}

double FresnelCos(double x) {
  const double a = std::abs(x);
  if (a < kFresnelNear) {
    const double z = x * x;
    return x * Chebyshev(kFresnelCNear, z * z, 0, 5.0625);
  }
  if (a > kFresnelFlat) return std::copysign(0.5, x);
  double f = 0, g = 0;
  FresnelTails(a, &f, &g);
  const Angle t = HalfPiSquared(a);
  return std::copysign(0.5 + f * t.sine - g * t.cosine, x);
}

double Spence(double x) {
  constexpr double kSixth = M_PI * M_PI / 6;
  const auto dilogarithm = [](double y) { return y * Chebyshev(kDilogarithm, y, -1, 0.5); };
  if (x < 0) return kNan;
  if (x == 0) return kSixth;
  if (x < 0.5) return kSixth - std::log1p(-x) * std::log(x) - dilogarithm(x);
  if (x <= 2) return dilogarithm(1 - x);
  const double log = std::log(x - 1);
  return -kSixth - 0.5 * log * log - dilogarithm(1 / (1 - x));
}

double Erfinv(double x) {
  const double a = std::abs(x);
  if (a > 1) return kNan;
  if (a == 1) return std::copysign(kInf, x);
  if (x * x <= 0.5) return x * Chebyshev(kErfinvNear, x * x, 0, 0.5);
  const double z = std::sqrt(-2 * std::log((1 - a) / 2));
  return std::isnan(x) ? x : std::copysign(NormalTail(z) * M_SQRT1_2, x);
}

double Ndtri(double p) {
  if (p < 0 || p > 1) return kNan;
  if (p == 0 || p == 1) return p == 0 ? -kInf : kInf;
  const double x = 2 * p - 1;
  if (x * x <= 0.5) return M_SQRT2 * x * Chebyshev(kErfinvNear, x * x, 0, 0.5);
  if (std::isnan(p)) return p;
  const double tail = NormalTail(std::sqrt(-2 * std::log(p < 0.5 ? p : 1 - p)));
  return p < 0.5 ? -tail : tail;
}

}  // namespace thalweg::compute
