// SPDX-License-Identifier: Apache-2.0
// Special functions of two or three numbers: incomplete gamma and beta functions, Hurwitz' zeta
// function, polygamma functions; Xlog1py and NextAfter.
#include <cmath>

#include "thalweg/graph/gradient_math.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

// x^(a - 1) e^-x / gamma(a): the derivative of Igamma by x.
Output GammaDensity(GradientMath& m, Output a, Output x) {
  const Output power = m.Mul(m.Sub(a, m.Number(a, 1)), m.Op("Log", {x}));
  return m.Op("Exp", {m.Sub(m.Sub(power, x), m.Op("Lgamma", {a}))});
}

Status IgammaGradient(GradientContext& c) {
  GradientMath m(c);
  const Output a = c.input(0), x = c.input(1);
  Output grad = c.grad(0);
  if (c.node().op_name() == "Igammac") grad = m.Neg(grad);
  m.SetBroadcast(m.Mul(m.Op("IgammaGradA", {a, x}), grad), m.Mul(GammaDensity(m, a, x), grad));
  return m.status();
}

// Sets the gradient of input 1 alone.
void SetSecond(GradientContext& c, GradientMath& m, Output grad) {
  const Output a = c.input(0), x = c.input(1);
  if (!m.status().ok()) return;
  if (a.shape().IsFullyDefined() && a.shape() == x.shape()) {
    c.set_input_grad(1, grad);
    return;
  }
  const Output shape = m.Shape(x);
  Node* axes = c.b().OpNode("BroadcastGradientArgs", {m.Shape(a), shape});
  c.set_input_grad(1, m.Op("Reshape", {m.Op("Sum", {grad, {axes, 1}}), shape}));
}

// By the first input there is none.
Status ZetaGradient(GradientContext& c) {
  GradientMath m(c);
  const Output x = c.input(0), q = c.input(1);
  const Output next = m.Op("Zeta", {m.Add(x, m.Number(x, 1)), q});
  SetSecond(c, m, m.Mul(c.grad(0), m.Mul(m.Neg(x), next)));
  return m.status();
}

Status PolygammaGradient(GradientContext& c) {
  GradientMath m(c);
  const Output n = c.input(0);
  const Output next = m.Op("Polygamma", {m.Add(n, m.Number(n, 1)), c.input(1)});
  SetSecond(c, m, m.Mul(c.grad(0), next));
  return m.status();
}

// By x alone: x^(a - 1) (1 - x)^(b - 1) / B(a, b).
Status BetaincGradient(GradientContext& c) {
  GradientMath m(c);
  const Output a = c.input(0), b = c.input(1), x = c.input(2), one = m.Number(x, 1);
  const Output lgamma_sum =
      m.Sub(m.Add(m.Op("Lgamma", {a}), m.Op("Lgamma", {b})), m.Op("Lgamma", {m.Add(a, b)}));
  const Output right = m.Mul(m.Sub(b, one), m.Op("Log1p", {m.Neg(x)}));
  const Output left = m.Op("Xlogy", {m.Sub(a, one), x});
  const Output density = m.Op("Exp", {m.Sub(m.Add(left, right), lgamma_sum)});
  const Output grad = m.Mul(density, c.grad(0)), shape = m.Shape(x);
  if (!m.status().ok()) return m.status();
  // x is as large as the output, or a scalar.
  Node* axes = c.b().OpNode("BroadcastGradientArgs", {m.Shape(c.output(0)), shape});
  c.set_input_grad(2, m.Op("Reshape", {m.Op("Sum", {grad, {axes, 1}}), shape}));
  return m.status();
}

// The number next to x1 moves with x1, whatever x2 is.
Status NextAfterGradient(GradientContext& c) {
  GradientMath m(c);
  const Output grad = c.grad(0);
  m.SetBroadcast(grad, m.Op("ZerosLike", {grad}));
  return m.status();
}

Status Xlog1pyGradient(GradientContext& c) {
  GradientMath m(c);
  const Output x = c.input(0), y = c.input(1), grad = c.grad(0);
  if (!m.status().ok()) return m.status();
  const Output not_zero =
      m.Op("Cast", {m.Op("NotEqual", {x, m.Number(x, 0)})}, {{"DstT", x.dtype()}});
  const Output by_x = m.Op("Xlog1py", {not_zero, y});
  const Output by_y = m.Op("Xdivy", {x, m.Add(y, m.Number(y, 1))});
  m.SetBroadcast(m.Mul(grad, m.Conj(by_x)), m.Mul(grad, m.Conj(by_y)));
  return m.status();
}

// Inputs that are not scalars have one shape.
Status BetaincShape(ShapeContext& c) {
  PartialShape shape = PartialShape::OfRank(0);
  bool may_be_scalar = true;
  for (int i = 0; i < 3; ++i) {
    const PartialShape& input = c.input(i);
    if (!input.known_rank()) {
      if (may_be_scalar) shape = PartialShape::Unknown();
      continue;
    }
    if (input.rank() == 0) continue;
    Result<PartialShape> merged = may_be_scalar ? input : shape.MergeWith(input);
    RETURN_IF_ERROR(Explained(merged.status(), "a, b and x must be scalars or have one shape, got ",
                              c.input(0), ", ", c.input(1), " and ", c.input(2)));
    shape = *std::move(merged);
    may_be_scalar = false;
  }
  c.set_output(0, shape);
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(special_binary) {
  const auto add = [&](const char* op, GradientFn gradient, const char* doc) {
    registry.Op(op).Shape(BroadcastBinaryShape).Gradient(gradient).Doc(doc);
  };
  add("Igamma", IgammaGradient, "The regularized lower incomplete gamma function P(a, x).");
  add("Igammac", IgammaGradient, "The regularized upper incomplete gamma function Q(a, x).");
  add("NextAfter", NextAfterGradient, "The number next to x1 in the direction of x2.");
  add("Polygamma", PolygammaGradient, "The derivative of order a of Digamma at x.");
  add("Xlog1py", Xlog1pyGradient, "x log(1 + y), and 0 where x is 0.");
  add("Zeta", ZetaGradient, "Hurwitz' zeta function: the sum of (q + k)^-x for k = 0, 1, ...");
  registry.Op("IgammaGradA")
      .Shape(BroadcastBinaryShape)
      .NotDifferentiable("TensorFlow defines none")
      .Doc("The derivative of Igamma by a.");
  registry.Op("Betainc")
      .Shape(BetaincShape)
      .Gradient(BetaincGradient)
      .Doc("The regularized incomplete beta function of a, b and x.");
}
