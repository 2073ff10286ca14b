// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/gradient_math.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

Status TruncatedShape(ShapeContext& c) {
  if (c.node().op_name() == "StatelessParameterizedTruncatedNormal") {
    RETURN_IF_ERROR(c.InputWithRank(1, 1).status());  // the seed
  }
  ASSIGN_OR_RETURN(PartialShape shape, c.ShapeArgument(0));
  c.set_output(0, std::move(shape));
  return OkStatus();
}

// A sample keeps its place between the bounds, in probability: z with
// (cdf(z) - cdf(a)) / (cdf(b) - cdf(a)) fixed.
Status TruncatedNormalGradient(GradientContext& c) {
  GradientMath m(c);
  const Output sample = c.output(0), grad = c.grad(0);
  const Output mean = c.input(2), deviation = c.input(3), low = c.input(4), high = c.input(5);
  const auto standard = [&](Output x) { return m.Div(m.Sub(x, mean), deviation); };
  const Output z = standard(sample), a = standard(low), b = standard(high);
  // An infinite bound does not move the sample; it is replaced by a number that is safe.
  const auto safe = [&](Output x) {
    return m.Where(m.Op("IsFinite", {x}), x, m.Op("ZerosLike", {x}));
  };
  const auto cdf = [&](Output x) { return m.Op("Erfc", {m.Scale(m.Neg(x), 0.7071067811865476)}); };
  const Output below = m.Div(m.Sub(cdf(z), cdf(a)), m.Sub(cdf(b), cdf(a)));
  const auto weight = [&](Output bound, Output share) {
    const Output finite = safe(bound);
    const Output ratio = m.Op("Exp", {m.Scale(m.Sub(m.Square(z), m.Square(finite)), 0.5)});
    const Output product = m.Mul(share, ratio);
    return m.Where(m.Op("IsFinite", {m.Add(bound, m.Op("ZerosLike", {product}))}), product,
                   m.Op("ZerosLike", {product}));
  };
  const Output of_low = weight(a, m.Sub(m.Number(below, 1), below)), of_high = weight(b, below);
  const Output of_mean = m.Sub(m.Sub(m.Number(z, 1), of_low), of_high);
  const Output of_deviation = m.Sub(m.Sub(z, m.Mul(safe(a), of_low)), m.Mul(safe(b), of_high));
  const Output parts[] = {of_mean, of_deviation, of_low, of_high};
  for (int i = 0; i < 4; ++i) {
    const Output input = c.input(i + 2);
    Node* axes = c.b().OpNode("BroadcastGradientArgs", {m.Shape(input), m.Shape(sample)});
    const Output sum = m.Op("Sum", {m.Mul(grad, parts[i]), {axes, 0}});
    c.set_input_grad(i + 2, m.Op("Reshape", {sum, m.Shape(input)}));
  }
  return m.status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(truncated_normal) {
  registry.Op("ParameterizedTruncatedNormal")
      .Shape(TruncatedShape)
      .NotDifferentiable("random numbers do not depend on the inputs' values")
      .Doc("Normal numbers between bounds, one row for each element of the parameters.");
  registry.Op("StatelessParameterizedTruncatedNormal")
      .Shape(TruncatedShape)
      .Gradient(TruncatedNormalGradient)
      .Doc("Normal numbers between bounds; the same seed gives the same numbers.");
}
