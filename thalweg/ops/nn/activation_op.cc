// SPDX-License-Identifier: Apache-2.0
// Activations and their gradients: Relu and its relatives, Softplus, Softsign.
#include "thalweg/graph/gradient_math.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

// dx = OPGrad(dy, y), or of the ops whose gradient needs x, OPGrad(dy, x).
Status FromOutput(GradientContext& c) {
  GradientMath m(c);
  c.set_input_grad(0, m.Op(c.node().op_name() + "Grad", {c.grad(0), c.output(0)}));
  return m.status();
}
Status FromInput(GradientContext& c) {
  GradientMath m(c);
  c.set_input_grad(0, m.Op(c.node().op_name() + "Grad", {c.grad(0), c.input(0)}));
  return m.status();
}

Status LeakyReluGradient(GradientContext& c) {
  GradientMath m(c);
  ASSIGN_OR_RETURN(const float alpha, c.node().Attr<float>("alpha"));
  c.set_input_grad(0, m.Op("LeakyReluGrad", {c.grad(0), c.input(0)}, {{"alpha", alpha}}));
  return m.status();
}

// Linear in the incoming gradient, constant in pieces in the other input.
Status PiecewiseGradient(GradientContext& c) {
  GradientMath m(c);
  c.set_input_grad(0, m.Op(c.node().op_name(), {c.grad(0), c.input(1)}));
  c.set_input_grad(1, m.Op("ZerosLike", {c.input(1)}));
  return m.status();
}

Status LeakyReluGradGradient(GradientContext& c) {
  GradientMath m(c);
  ASSIGN_OR_RETURN(const float alpha, c.node().Attr<float>("alpha"));
  c.set_input_grad(0, m.Op("LeakyReluGrad", {c.grad(0), c.input(1)}, {{"alpha", alpha}}));
  c.set_input_grad(1, m.Op("ZerosLike", {c.input(1)}));
  return m.status();
}

// Of EluGrad and SeluGrad, which see the activation's output: below zero they grow with it.
Status ExponentialGradient(GradientContext& c) {
  GradientMath m(c);
  const Output zero = m.Number(c.input(1), 0);
  c.set_input_grad(0, m.Op(c.node().op_name(), {c.grad(0), c.input(1)}));
  c.set_input_grad(1,
                   m.Where(m.Op("Less", {c.input(1), zero}), m.Mul(c.grad(0), c.input(0)), zero));
  return m.status();
}

// The second derivative of log(1 + e^x) is 1 / (e^-x + 2 + e^x).
Status SoftplusGradGradient(GradientContext& c) {
  GradientMath m(c);
  const Output dy = c.input(0), x = c.input(1), grad = c.grad(0);
  const Output width = m.Add(m.Add(m.Op("Exp", {m.Neg(x)}), m.Number(x, 2)), m.Op("Exp", {x}));
  c.set_input_grad(0, m.Op("SoftplusGrad", {grad, x}));
  c.set_input_grad(1, m.Div(m.Mul(grad, dy), width));
  return m.status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(activation) {
  const auto add = [&](const char* op, GradientFn gradient, const char* doc) {
    registry.Op(op).Shape(UnchangedShape).Gradient(gradient).Doc(doc);
  };
  add("Relu", FromOutput, "max(x, 0).");
  add("Relu6", FromOutput, "max(x, 0), at most 6.");
  add("Elu", FromOutput, "x, and exp(x) - 1 below zero.");
  add("Selu", FromOutput, "Elu, scaled so that means and variances stay.");
  add("LeakyRelu", LeakyReluGradient, "x, and alpha x below zero.");
  add("Softplus", FromInput, "log(1 + exp(x)).");
  add("Softsign", FromInput, "x / (1 + |x|).");
  const auto add_grad = [&](const char* op, GradientFn gradient) {
    registry.Op(op)
        .Shape(MergedInputsShape)
        .Gradient(gradient)
        .Doc("The gradient of an activation.");
  };
  add_grad("ReluGrad", PiecewiseGradient);
  add_grad("Relu6Grad", PiecewiseGradient);
  add_grad("LeakyReluGrad", LeakyReluGradGradient);
  add_grad("EluGrad", ExponentialGradient);
  add_grad("SeluGrad", ExponentialGradient);
  add_grad("SoftplusGrad", SoftplusGradGradient);
  registry.Op("SoftsignGrad")
      .Shape(MergedInputsShape)
      .NotDifferentiable("TensorFlow defines no second gradient of Softsign")
      .Doc("The gradient of Softsign.");
}
