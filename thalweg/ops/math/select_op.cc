// SPDX-License-Identifier: Apache-2.0
// Select, SelectV2 (broadcasting), ClipByValue.
#include "thalweg/graph/gradient_math.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

// The condition is a scalar, a vector as long as dimension 0, or has the shape of the values.
Status SelectShape(ShapeContext& c) {
  Result<PartialShape> values = c.input(1).MergeWith(c.input(2));
  RETURN_IF_ERROR(Explained(values.status(), "t and e must have one shape"));
  const PartialShape& condition = c.input(0);
  c.set_output(0, *values);
  if (!condition.known_rank() || !values->known_rank() || condition.rank() == 0) return OkStatus();
  if (condition.rank() == 1 && values->rank() >= 1) {
    return Explained(condition.MergeWith(PartialShape{values->dim(0)}).status(),
                     "a condition that is a vector has an element for each row of ", *values);
  }
  return Explained(values->MergeWith(condition).status(),
                   "condition must be a scalar, a vector, or have the shape of t");
}

Status SelectV2Shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(PartialShape values, BroadcastShapes(c.input(1), c.input(2)));
  ASSIGN_OR_RETURN(PartialShape out, BroadcastShapes(c.input(0), values));
  c.set_output(0, out);
  return OkStatus();
}

Status SelectGradient(GradientContext& c) {
  GradientMath m(c);
  const Output grad = c.grad(0), zeros = m.Op("ZerosLike", {grad});
  c.set_input_grad(1, m.Op("Select", {c.input(0), grad, zeros}));
  c.set_input_grad(2, m.Op("Select", {c.input(0), zeros, grad}));
  return m.status();
}

// `grad` summed to the shape of input i.
Output SumTo(GradientContext& c, GradientMath& m, int i, Output grad) {
  if (!m.status().ok()) return {};
  const Output x = c.input(i);
  if (x.shape().IsFullyDefined() && x.shape() == grad.shape()) return grad;
  const Output shape = m.Shape(x);
  Node* axes = c.b().OpNode("BroadcastGradientArgs", {shape, m.Shape(grad)});
  return m.Op("Reshape", {m.Op("Sum", {grad, {axes, 0}}), shape});
}

Status SelectV2Gradient(GradientContext& c) {
  GradientMath m(c);
  const Output grad = c.grad(0), zero = m.Number(c.input(1), 0);
  c.set_input_grad(1, SumTo(c, m, 1, m.Where(c.input(0), grad, zero)));
  c.set_input_grad(2, SumTo(c, m, 2, m.Where(c.input(0), zero, grad)));
  return m.status();
}

Status ClipShape(ShapeContext& c) {
  c.set_output(0, c.input(0));
  for (int i : {1, 2}) {
    const PartialShape& bound = c.input(i);
    if (bound.known_rank() && bound.rank() == 0) continue;
    if (!bound.IsCompatibleWith(c.input(0))) {
      return InvalidArgument("clip bounds must be scalars or have the shape of t: ",
                             bound.ToString(), " against ", c.input(0).ToString());
    }
  }
  return OkStatus();
}

Status ClipGradient(GradientContext& c) {
  if (IsComplex(c.input(0).dtype())) {
    return Unimplemented("the gradient of ClipByValue for complex numbers, which have no order");
  }
  GradientMath m(c);
  const Output x = c.input(0), grad = c.grad(0), zero = m.Number(x, 0);
  const Output below = m.Op("Less", {x, c.input(1)}), above = m.Op("Greater", {x, c.input(2)});
  const Output outside = m.Op("LogicalOr", {below, above});
  c.set_input_grad(0, m.Where(outside, zero, grad));
  c.set_input_grad(1, SumTo(c, m, 1, m.Where(below, grad, zero)));
  c.set_input_grad(2, SumTo(c, m, 2, m.Where(above, grad, zero)));
  return m.status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(select) {
  registry.Op("Select")
      .Shape(SelectShape)
      .Gradient(SelectGradient)
      .Doc("t where the condition holds, else e; by rows when the condition is a vector.");
  registry.Op("SelectV2")
      .Shape(SelectV2Shape)
      .Gradient(SelectV2Gradient)
      .Doc("t where the condition holds, else e; all three broadcast.");
  registry.Op("ClipByValue")
      .Shape(ClipShape)
      .Gradient(ClipGradient)
      .Doc(
          "t, but at least clip_value_min and at most clip_value_max; of complex numbers each "
          "part.");
}
