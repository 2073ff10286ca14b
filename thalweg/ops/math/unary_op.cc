// SPDX-License-Identifier: Apache-2.0
// Element-wise operations of one input, and the ones that compute their gradients from the output.
#include <cmath>

#include "thalweg/graph/gradient_math.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

using M = GradientMath;

Status NegGradient(GradientContext& c) {
  GradientMath m(c);
  c.set_input_grad(0, m.Neg(c.grad(0)));
  return m.status();
}

Status ConjGradient(GradientContext& c) {
  GradientMath m(c);
  c.set_input_grad(0, m.Op("Conj", {c.grad(0)}));
  return m.status();
}

Status SignGradient(GradientContext& c) {
  GradientMath m(c);
  c.set_input_grad(0, m.Op("ZerosLike", {c.input(0)}));
  return m.status();
}

Status TanhGradient(GradientContext& c) {
  GradientMath m(c);
  c.set_input_grad(0, m.Op("TanhGrad", {m.Conj(c.output(0)), c.grad(0)}));
  return m.status();
}
Status SigmoidGradient(GradientContext& c) {
  GradientMath m(c);
  c.set_input_grad(0, m.Op("SigmoidGrad", {m.Conj(c.output(0)), c.grad(0)}));
  return m.status();
}
Status SqrtGradient(GradientContext& c) {
  GradientMath m(c);
  c.set_input_grad(0, m.Op("SqrtGrad", {c.output(0), c.grad(0)}));
  return m.status();
}
Status RsqrtGradient(GradientContext& c) {
  GradientMath m(c);
  c.set_input_grad(0, m.Op("RsqrtGrad", {c.output(0), c.grad(0)}));
  return m.status();
}
Status ReciprocalGradient(GradientContext& c) {
  GradientMath m(c);
  c.set_input_grad(0, m.Op("ReciprocalGrad", {c.output(0), c.grad(0)}));
  return m.status();
}

// The gradients of z = fGrad(y, dy); each is linear in dy, so dy's gradient is fGrad(y, dz).
// F(m, y, dz * dy) is the gradient of y. Of complex numbers, the operation conjugates y itself or
// (Plain) takes it as it is.
template <auto F, bool Plain = false>
Status SecondOrder(GradientContext& c) {
  GradientMath m(c);
  const Output y = m.Conj(c.input(0)), dy = c.input(1), dz = c.grad(0);
  c.set_input_grad(0, F(m, y, Plain ? m.Mul(dz, m.Conj(dy)) : m.Mul(m.Conj(dz), dy)));
  c.set_input_grad(1, m.Op(c.node().op_name(), {y, dz}));
  return m.status();
}

void RegisterRoots(OpRegistry& registry) {
  registry.Op("Square")
      .Shape(UnchangedShape)
      .Gradient(ChainRule<[](M& m, Output x, Output) { return m.Scale(x, 2); }>)
      .Doc("The square of every element.");
  registry.Op("Sqrt").Shape(UnchangedShape).Gradient(SqrtGradient).Doc("Square roots.");
  registry.Op("Rsqrt").Shape(UnchangedShape).Gradient(RsqrtGradient).Doc("1 / sqrt(x).");
  for (const char* op : {"Reciprocal", "Inv"}) {
    registry.Op(op).Shape(UnchangedShape).Gradient(ReciprocalGradient).Doc("1 / x.");
  }
  registry.Op("SqrtGrad")
      .Shape(MergedInputsShape)
      .Gradient(SecondOrder<[](M& m, Output y, Output g) {
        return m.Scale(m.Div(g, m.Square(y)), -0.5);
      }>)
      .Doc("dy / (2 y): the gradient of Sqrt from its output.");
  registry.Op("RsqrtGrad")
      .Shape(MergedInputsShape)
      .Gradient(SecondOrder<[](M& m, Output y, Output g) {
        return m.Scale(m.Mul(g, m.Square(y)), -1.5);
      }>)
      .Doc("-dy y^3 / 2: the gradient of Rsqrt from its output.");
  for (const char* op : {"ReciprocalGrad", "InvGrad"}) {
    registry.Op(op)
        .Shape(MergedInputsShape)
        .Gradient(SecondOrder<[](M& m, Output y, Output g) { return m.Scale(m.Mul(g, y), -2); }>)
        .Doc("-dy y^2: the gradient of Reciprocal from its output.");
  }
}

void RegisterExponentials(OpRegistry& registry) {
  registry.Op("Exp")
      .Shape(UnchangedShape)
      .Gradient(ChainRule<[](M&, Output, Output y) { return y; }>)
      .Doc("e to the power of every element.");
  registry.Op("Expm1")
      .Shape(UnchangedShape)
      .Gradient(ChainRule<[](M& m, Output x, Output) { return m.Op("Exp", {x}); }>)
      .Doc("exp(x) - 1, exact near zero.");
  registry.Op("Log")
      .Shape(UnchangedShape)
      .Gradient(ChainRule<[](M& m, Output x, Output) { return m.Reciprocal(x); }>)
      .Doc("Natural logarithms.");
  registry.Op("Log1p")
      .Shape(UnchangedShape)
      .Gradient(
          ChainRule<[](M& m, Output x, Output) { return m.Reciprocal(m.Add(m.Number(x, 1), x)); }>)
      .Doc("log(1 + x), exact near zero.");
  registry.Op("Tanh").Shape(UnchangedShape).Gradient(TanhGradient).Doc("Hyperbolic tangents.");
  registry.Op("Sigmoid").Shape(UnchangedShape).Gradient(SigmoidGradient).Doc("1 / (1 + exp(-x)).");
  registry.Op("TanhGrad")
      .Shape(MergedInputsShape)
      .Gradient(
          SecondOrder<[](M& m, Output y, Output g) { return m.Scale(m.Mul(g, y), -2); }, true>)
      .Doc("dy (1 - y^2): the gradient of Tanh from its output.");
  registry.Op("SigmoidGrad")
      .Shape(MergedInputsShape)
      .Gradient(
          SecondOrder<[](M& m, Output y, Output g) { return m.Sub(g, m.Scale(m.Mul(g, y), 2)); }>)
      .Doc("dy y (1 - y): the gradient of Sigmoid from its output.");
}

void RegisterAngles(OpRegistry& registry) {
  const auto add = [&](const char* op, GradientFn gradient, const char* doc) {
    registry.Op(op).Shape(UnchangedShape).Gradient(gradient).Doc(doc);
  };
  add("Sin", ChainRule<[](M& m, Output x, Output) { return m.Op("Cos", {x}); }>, "Sines.");
  add("Cos", ChainRule<[](M& m, Output x, Output) { return m.Neg(m.Op("Sin", {x})); }>, "Cosines.");
  add("Tan",
      ChainRule<[](M& m, Output x, Output) { return m.Square(m.Reciprocal(m.Op("Cos", {x}))); }>,
      "Tangents.");
  add("Asin", ChainRule<[](M& m, Output x, Output) {
        return m.Op("Rsqrt", {m.Sub(m.Number(x, 1), m.Square(x))});
      }>,
      "Angles whose sine is x.");
  add("Acos", ChainRule<[](M& m, Output x, Output) {
        return m.Neg(m.Op("Rsqrt", {m.Sub(m.Number(x, 1), m.Square(x))}));
      }>,
      "Angles whose cosine is x.");
  add("Atan", ChainRule<[](M& m, Output x, Output) {
        return m.Reciprocal(m.Add(m.Number(x, 1), m.Square(x)));
      }>,
      "Angles whose tangent is x.");
  add("Sinh", ChainRule<[](M& m, Output x, Output) { return m.Op("Cosh", {x}); }>,
      "Hyperbolic sines.");
  add("Cosh", ChainRule<[](M& m, Output x, Output) { return m.Op("Sinh", {x}); }>,
      "Hyperbolic cosines.");
  add("Asinh", ChainRule<[](M& m, Output, Output y) { return m.Reciprocal(m.Op("Cosh", {y})); }>,
      "The inverse of Sinh.");
  add("Acosh", ChainRule<[](M& m, Output, Output y) { return m.Reciprocal(m.Op("Sinh", {y})); }>,
      "The inverse of Cosh, for x >= 1.");
  add("Atanh", ChainRule<[](M& m, Output x, Output) {
        return m.Reciprocal(m.Sub(m.Number(x, 1), m.Square(x)));
      }>,
      "The inverse of Tanh, for |x| < 1.");
}

Output BellCurve(M& m, Output x, double factor) {
  return m.Scale(m.Op("Exp", {m.Neg(m.Square(x))}), factor * M_2_SQRTPI);
}

void RegisterSpecial(OpRegistry& registry) {
  registry.Op("Erf")
      .Shape(UnchangedShape)
      .Gradient(ChainRule<[](M& m, Output x, Output) { return BellCurve(m, x, 1); }>)
      .Doc("The error function.");
  registry.Op("Erfc")
      .Shape(UnchangedShape)
      .Gradient(ChainRule<[](M& m, Output x, Output) { return BellCurve(m, x, -1); }>)
      .Doc("1 - erf(x), exact for large x.");
  registry.Op("Lgamma")
      .Shape(UnchangedShape)
      .Gradient(ChainRule<[](M& m, Output x, Output) { return m.Op("Digamma", {x}); }>)
      .Doc("log |gamma(x)|.");
  registry.Op("Digamma")
      .Shape(UnchangedShape)
      .Gradient(ChainRule<[](M& m, Output x, Output) {
        return m.Op("Polygamma", {m.Number(x, 1), x});
      }>)
      .Doc("The derivative of Lgamma.");
}

void RegisterPlain(OpRegistry& registry) {
  registry.Op("Neg").Shape(UnchangedShape).Gradient(NegGradient).Doc("-x.");
  registry.Op("Conj").Shape(UnchangedShape).Gradient(ConjGradient).Doc("Complex conjugates.");
  registry.Op("Abs")
      .Shape(UnchangedShape)
      .Gradient(ChainRule<[](M& m, Output x, Output) { return m.Op("Sign", {x}); }>)
      .Doc("Absolute values.");
  registry.Op("Sign").Shape(UnchangedShape).Gradient(SignGradient).Doc("-1, 0 or 1; z / |z|.");
  for (const char* op : {"Floor", "Ceil", "Round", "Rint"}) {
    registry.Op(op)
        .Shape(UnchangedShape)
        .NotDifferentiable("the derivative is zero wherever it exists")
        .Doc("Whole numbers near x; Round and Rint take the even one at a tie.");
  }
  for (const char* op : {"IsNan", "IsInf", "IsFinite", "LogicalNot", "Invert"}) {
    registry.Op(op)
        .Shape(UnchangedShape)
        .NotDifferentiable("the output is no real number")
        .Doc("A test, or the opposite, of every element.");
  }
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(unary) {
  RegisterPlain(registry);
  RegisterRoots(registry);
  RegisterExponentials(registry);
  RegisterAngles(registry);
  RegisterSpecial(registry);
}
