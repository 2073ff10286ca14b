// SPDX-License-Identifier: Apache-2.0
// Softmax and LogSoftmax over the last dimension.
#include "thalweg/graph/gradient_math.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

Status RowsShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape logits, c.InputWithRankAtLeast(0, 1));
  c.set_output(0, logits);
  return OkStatus();
}

Output RowSums(GradientMath& m, Output x) {
  return m.Op("Sum", {x, m.Ints({-1})}, {{"keep_dims", true}});
}

Status SoftmaxGradient(GradientContext& c) {
  GradientMath m(c);
  const Output y = c.output(0), grad = c.grad(0);
  c.set_input_grad(0, m.Mul(m.Sub(grad, RowSums(m, m.Mul(grad, y))), y));
  return m.status();
}

Status LogSoftmaxGradient(GradientContext& c) {
  GradientMath m(c);
  const Output y = c.output(0), grad = c.grad(0);
  c.set_input_grad(0, m.Sub(grad, m.Mul(RowSums(m, grad), m.Op("Exp", {y}))));
  return m.status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(softmax) {
  registry.Op("Softmax").Shape(RowsShape).Gradient(SoftmaxGradient).Doc("exp(x) / sum(exp(x)).");
  registry.Op("LogSoftmax")
      .Shape(RowsShape)
      .Gradient(LogSoftmaxGradient)
      .Doc("x - log(sum(exp(x))).");
}
