// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "thalweg/testing/op_case.h"

namespace thalweg {
namespace {

// A case of y = f(x) on values in [low, high].
template <class F>
void Special(const char* op, F f, double low, double high) {
  OpCase(op)
      .Elementwise(f)
      .Try({In({7, 31}).Range(low, high)})
      .Try({In({1100}).Range(low, high)})
      .Try({In({}).Range(low, high)})
      .Try({In({0, 3})})
      .Run();
}

// Gauss' rule with five points on each of 64 pieces; the integrands below are smooth.
template <class F>
double Integral(F f, double from, double to) {
  constexpr int kPieces = 64;
  constexpr double kPlace[] = {0, 0.538469310105683091, 0.906179845938663993};
  constexpr double kWeight[] = {0.568888888888888889, 0.478628670499366468, 0.236926885056189088};
  const double half = (to - from) / kPieces / 2;
  double sum = 0;
  for (int i = 0; i < kPieces; ++i) {
    const double middle = from + (2 * i + 1) * half;
    sum += kWeight[0] * f(middle);
    for (int k : {1, 2}) {
      sum += kWeight[k] * (f(middle - kPlace[k] * half) + f(middle + kPlace[k] * half));
    }
  }
  return sum * half;
}

// The x in [low, high] where the rising function f is y.
template <class F>
double Inverse(F f, double y, double low, double high) {
  for (int i = 0; i < 200; ++i) {
    const double middle = low + (high - low) / 2;
    (f(middle) < y ? low : high) = middle;
  }
  return low;
}

double I(int n, double x) {
  const double value = std::cyl_bessel_i(n, std::abs(x));
  return x < 0 && n == 1 ? -value : value;
}

TEST(SpecialTest, ModifiedBessel) {
  Special(
      "BesselI0", [](double x) { return I(0, x); }, -9, 9);
  Special(
      "BesselI1", [](double x) { return I(1, x); }, -9, 9);
  Special(
      "BesselI0e", [](double x) { return I(0, x) * std::exp(-std::abs(x)); }, -9, 9);
  Special(
      "BesselI1e", [](double x) { return I(1, x) * std::exp(-std::abs(x)); }, -9, 9);
  Special(
      "BesselK0", [](double x) { return std::cyl_bessel_k(0, x); }, 0.3, 9);
  Special(
      "BesselK1", [](double x) { return std::cyl_bessel_k(1, x); }, 0.3, 9);
  Special(
      "BesselK0e", [](double x) { return std::cyl_bessel_k(0, x) * std::exp(x); }, 0.3, 9);
  Special(
      "BesselK1e", [](double x) { return std::cyl_bessel_k(1, x) * std::exp(x); }, 0.3, 9);
}

TEST(SpecialTest, Bessel) {
  const auto order0 = [](double t, double x) { return std::cos(x * std::sin(t)); };
  const auto order1 = [](double t, double x) { return std::cos(t - x * std::sin(t)); };
  Special(
      "BesselJ0",
      [=](double x) { return Integral([&](double t) { return order0(t, x); }, 0, M_PI) / M_PI; },
      -9, 9);
  Special(
      "BesselJ1",
      [=](double x) { return Integral([&](double t) { return order1(t, x); }, 0, M_PI) / M_PI; },
      -9, 9);
  Special(
      "BesselY0", [](double x) { return std::cyl_neumann(0, x); }, 0.3, 9);
  Special(
      "BesselY1", [](double x) { return std::cyl_neumann(1, x); }, 0.3, 9);
}

TEST(SpecialTest, Integrals) {
  Special(
      "Dawsn",
      [](double x) { return Integral([&](double t) { return std::exp(t * t - x * x); }, 0, x); },
      -5.5, 5.5);
  Special(
      "Expint", [](double x) { return std::expint(x); }, 0.3, 14);
  Special(
      "FresnelCos",
      [](double x) { return Integral([](double t) { return std::cos(M_PI_2 * t * t); }, 0, x); },
      -4, 4);
  Special(
      "FresnelSin",
      [](double x) { return Integral([](double t) { return std::sin(M_PI_2 * t * t); }, 0, x); },
      -4, 4);
  Special(
      "Spence",
      [](double x) {
        const auto slope = [](double t) {
          return std::abs(t - 1) < 1e-9 ? -1 : std::log(t) / (1 - t);
        };
        return Integral(slope, 1, x);
      },
      0.2, 4);
}

TEST(SpecialTest, Inverses) {
  Special(
      "Erfinv", [](double y) { return Inverse([](double x) { return std::erf(x); }, y, -6, 6); },
      -0.99, 0.99);
  Special(
      "Ndtri",
      [](double p) {
        return Inverse([](double x) { return std::erfc(-x * M_SQRT1_2) / 2; }, p, -9, 9);
      },
      0.01, 0.99);
}

}  // namespace
}  // namespace thalweg
