// SPDX-License-Identifier: Apache-2.0
// Special functions of one number: Bessel functions, integrals without a closed form, and inverses.
#include <cmath>

#include "thalweg/graph/gradient_math.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

using M = GradientMath;

// f'(x), and `at` where x is `point`, where the formula for f' fails.
Output Except(M& m, Output x, double point, double at, Output slope) {
  return m.Where(m.Op("Equal", {x, m.Number(x, point)}), m.Number(x, at), slope);
}

Output Sign(M& m, Output x) { return m.Op("Sign", {x}); }

void RegisterBessel(OpRegistry& registry) {
  const auto add = [&](const char* op, GradientFn gradient, const char* doc) {
    registry.Op(op).Shape(UnchangedShape).Gradient(gradient).Doc(doc);
  };
  add("BesselI0", ChainRule<[](M& m, Output x, Output) { return m.Op("BesselI1", {x}); }>,
      "Modified Bessel functions of the first kind, order 0.");
  add("BesselI0e", ChainRule<[](M& m, Output x, Output y) {
        return m.Sub(m.Op("BesselI1e", {x}), m.Mul(Sign(m, x), y));
      }>,
      "BesselI0 times exp(-|x|).");
  add("BesselI1", ChainRule<[](M& m, Output x, Output y) {
        return Except(m, x, 0, 0.5, m.Sub(m.Op("BesselI0", {x}), m.Div(y, x)));
      }>,
      "Modified Bessel functions of the first kind, order 1.");
  add("BesselI1e", ChainRule<[](M& m, Output x, Output y) {
        const Output factor = m.Add(Sign(m, x), m.Reciprocal(x));
        return Except(m, x, 0, 0.5, m.Sub(m.Op("BesselI0e", {x}), m.Mul(y, factor)));
      }>,
      "BesselI1 times exp(-|x|).");
  add("BesselJ0", ChainRule<[](M& m, Output x, Output) { return m.Neg(m.Op("BesselJ1", {x})); }>,
      "Bessel functions of the first kind, order 0.");
  add("BesselJ1", ChainRule<[](M& m, Output x, Output y) {
        return Except(m, x, 0, 0.5, m.Sub(m.Op("BesselJ0", {x}), m.Div(y, x)));
      }>,
      "Bessel functions of the first kind, order 1.");
  add("BesselK0", ChainRule<[](M& m, Output x, Output) { return m.Neg(m.Op("BesselK1", {x})); }>,
      "Modified Bessel functions of the second kind, order 0.");
  add("BesselK0e",
      ChainRule<[](M& m, Output x, Output y) { return m.Sub(y, m.Op("BesselK1e", {x})); }>,
      "BesselK0 times exp(x).");
  add("BesselK1", ChainRule<[](M& m, Output x, Output y) {
        return m.Sub(m.Neg(m.Op("BesselK0", {x})), m.Div(y, x));
      }>,
      "Modified Bessel functions of the second kind, order 1.");
  add("BesselK1e", ChainRule<[](M& m, Output x, Output y) {
        const Output factor = m.Sub(m.Number(x, 1), m.Reciprocal(x));
        return m.Sub(m.Mul(y, factor), m.Op("BesselK0e", {x}));
      }>,
      "BesselK1 times exp(x).");
  add("BesselY0", ChainRule<[](M& m, Output x, Output) { return m.Neg(m.Op("BesselY1", {x})); }>,
      "Bessel functions of the second kind, order 0.");
  add("BesselY1",
      ChainRule<[](M& m, Output x, Output y) { return m.Sub(m.Op("BesselY0", {x}), m.Div(y, x)); }>,
      "Bessel functions of the second kind, order 1.");
}

Output QuarterTurns(M& m, Output x) { return m.Scale(m.Square(x), M_PI_2); }

void RegisterIntegrals(OpRegistry& registry) {
  const auto add = [&](const char* op, GradientFn gradient, const char* doc) {
    registry.Op(op).Shape(UnchangedShape).Gradient(gradient).Doc(doc);
  };
  add("Dawsn", ChainRule<[](M& m, Output x, Output y) {
        return m.Sub(m.Number(x, 1), m.Scale(m.Mul(x, y), 2));
      }>,
      "Dawson's integral: exp(-x^2) times the integral of exp(t^2) from 0 to x.");
  add("Expint", ChainRule<[](M& m, Output x, Output) { return m.Div(m.Op("Exp", {x}), x); }>,
      "The exponential integral Ei.");
  add("FresnelCos",
      ChainRule<[](M& m, Output x, Output) { return m.Op("Cos", {QuarterTurns(m, x)}); }>,
      "The integral of cos(pi t^2 / 2) from 0 to x.");
  add("FresnelSin",
      ChainRule<[](M& m, Output x, Output) { return m.Op("Sin", {QuarterTurns(m, x)}); }>,
      "The integral of sin(pi t^2 / 2) from 0 to x.");
  add("Spence", ChainRule<[](M& m, Output x, Output) {
        const Output slope = m.Div(m.Op("Log", {x}), m.Sub(m.Number(x, 1), x));
        return Except(m, x, 1, -1, slope);
      }>,
      "The dilogarithm of 1 - x.");
}

void RegisterInverses(OpRegistry& registry) {
  registry.Op("Erfinv")
      .Shape(UnchangedShape)
      .Gradient(ChainRule<[](M& m, Output, Output y) {
        return m.Scale(m.Op("Exp", {m.Square(y)}), 1 / M_2_SQRTPI);
      }>)
      .Doc("The inverse of Erf, for |x| <= 1.");
  registry.Op("Ndtri")
      .Shape(UnchangedShape)
      .Gradient(ChainRule<[](M& m, Output, Output y) {
        return m.Scale(m.Op("Exp", {m.Scale(m.Square(y), 0.5)}), std::sqrt(2 * M_PI));
      }>)
      .Doc("The quantiles of the standard normal distribution.");
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(special) {
  RegisterBessel(registry);
  RegisterIntegrals(registry);
  RegisterInverses(registry);
}
