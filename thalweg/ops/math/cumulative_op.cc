// SPDX-License-Identifier: Apache-2.0
// Cumsum, Cumprod and CumulativeLogsumexp along one dimension.
#include <limits>

#include "thalweg/graph/gradient_math.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

Status CumulativeShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(1, 0).status());
  c.set_output(0, c.input(0));
  return OkStatus();
}

Status CumsumGradient(GradientContext& c) {
  GradientMath m(c);
  ASSIGN_OR_RETURN(const bool exclusive, c.node().Attr<bool>("exclusive"));
  ASSIGN_OR_RETURN(const bool reverse, c.node().Attr<bool>("reverse"));
  c.set_input_grad(0, m.Op("Cumsum", {c.grad(0), c.input(1)},
                           {{"exclusive", exclusive}, {"reverse", !reverse}}));
  return m.status();
}

// Zero where x is zero.
Status CumprodGradient(GradientContext& c) {
  GradientMath m(c);
  ASSIGN_OR_RETURN(const bool exclusive, c.node().Attr<bool>("exclusive"));
  ASSIGN_OR_RETURN(const bool reverse, c.node().Attr<bool>("reverse"));
  const Output weighted = m.Mul(m.Conj(c.output(0)), c.grad(0));
  const Output sums =
      m.Op("Cumsum", {weighted, c.input(1)}, {{"exclusive", exclusive}, {"reverse", !reverse}});
  c.set_input_grad(0, m.Op("DivNoNan", {sums, m.Conj(c.input(0))}));
  return m.status();
}

// Scaled by the output: of positive and of negative gradients apart, as logarithms.
Status CumulativeLogsumexpGradient(GradientContext& c) {
  GradientMath m(c);
  ASSIGN_OR_RETURN(const bool exclusive, c.node().Attr<bool>("exclusive"));
  ASSIGN_OR_RETURN(const bool reverse, c.node().Attr<bool>("reverse"));
  const Output x = c.input(0), y = c.output(0), grad = c.grad(0), zero = m.Number(grad, 0);
  const auto part = [&](const char* sign, Output size) {
    const Output log = m.Op("Log", {size});
    const Output least = m.Number(grad, -std::numeric_limits<double>::infinity());
    const Output kept = m.Where(m.Op(sign, {grad, zero}), m.Sub(log, y), least);
    const Output sum = m.Op("CumulativeLogsumexp", {kept, c.input(1)},
                            {{"exclusive", exclusive}, {"reverse", !reverse}});
    return m.Op("Exp", {m.Add(sum, x)});
  };
  c.set_input_grad(0, m.Sub(part("Greater", grad), part("Less", m.Neg(grad))));
  return m.status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(cumulative) {
  registry.Op("Cumsum")
      .Shape(CumulativeShape)
      .Gradient(CumsumGradient)
      .Doc("Sums of the elements so far, the element itself with them unless exclusive.");
  registry.Op("Cumprod")
      .Shape(CumulativeShape)
      .Gradient(CumprodGradient)
      .Doc("Products of the elements so far, the element itself with them unless exclusive.");
  registry.Op("CumulativeLogsumexp")
      .Shape(CumulativeShape)
      .Gradient(CumulativeLogsumexpGradient)
      .Doc(
          "log(sum(exp(x))) of the elements so far, the element itself with them unless "
          "exclusive.");
}
