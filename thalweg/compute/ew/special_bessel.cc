// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "thalweg/compute/ew/bessel_tables.inc"
#include "thalweg/compute/ew/chebyshev.h"
#include "thalweg/compute/ew/special_functions.h"

namespace thalweg::compute {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// scaled * e^x, where e^x alone may overflow.
double TimesExp(double scaled, double x) {
  const double root = std::exp(x / 2);
  return scaled * root * root;
}

}  // namespace

double BesselI0e(double x) {
  const double a = std::abs(x);
  if (a <= 8) return Chebyshev(kBesselI0Near, a, 0, 8);
  return Chebyshev(kBesselI0Far, 8 / a, 0, 1) / std::sqrt(a);
}

double BesselI1e(double x) {
  const double a = std::abs(x);
  if (a <= 8) return x * Chebyshev(kBesselI1Near, a, 0, 8);
  return std::copysign(Chebyshev(kBesselI1Far, 8 / a, 0, 1) / std::sqrt(a), x);
}

double BesselI0(double x) { return std::isinf(x) ? kInf : TimesExp(BesselI0e(x), std::abs(x)); }

double BesselI1(double x) { return std::isinf(x) ? x : TimesExp(BesselI1e(x), std::abs(x)); }

// As in TensorFlow, functions of the second kind stay at their limit for 0 below 0.

double BesselJ0(double x) { return ::j0(x); }
double BesselJ1(double x) { return ::j1(x); }
double BesselY0(double x) { return x <= 0 ? -kInf : ::y0(x); }
double BesselY1(double x) { return x <= 0 ? -kInf : ::y1(x); }

double BesselK0e(double x) {
  if (x <= 0) return kInf;
  if (x <= 2) return BesselK0(x) * std::exp(x);
  return Chebyshev(kBesselK0Far, 2 / x, 0, 1) / std::sqrt(x);
}

double BesselK0(double x) {
  if (x <= 0) return kInf;
  if (x <= 2) return Chebyshev(kBesselK0Near, x * x, 0, 4) - std::log(x / 2) * BesselI0(x);
  return std::exp(-x) * BesselK0e(x);
}

double BesselK1e(double x) {
  if (x <= 0) return kInf;
  if (x <= 2) return BesselK1(x) * std::exp(x);
  return Chebyshev(kBesselK1Far, 2 / x, 0, 1) / std::sqrt(x);
}

double BesselK1(double x) {
  if (x <= 0) return kInf;
  if (x <= 2) return Chebyshev(kBesselK1Near, x * x, 0, 4) / x + std::log(x / 2) * BesselI1(x);
  return std::exp(-x) * BesselK1e(x);
}

}  // namespace thalweg::compute
