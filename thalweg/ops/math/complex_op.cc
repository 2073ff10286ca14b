// SPDX-License-Identifier: Apache-2.0
// Complex numbers taken apart (Real, Imag, ComplexAbs, Angle) and put together (Complex).
#include "thalweg/graph/gradient_math.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

// re + i im.
Output Join(GradientContext& c, GradientMath& m, Output re, Output im) {
  if (!m.status().ok()) return {};
  return m.Op("Complex", {re, im}, {{"Tout", c.node().input_type(0)}});
}

Output Part(GradientMath& m, const char* op, Output z, DType part) {
  if (!m.status().ok()) return {};
  return m.Op(op, {z}, {{"Tout", part}});
}

Status RealGradient(GradientContext& c) {
  GradientMath m(c);
  c.set_input_grad(0, Join(c, m, c.grad(0), m.Number(c.grad(0), 0)));
  return m.status();
}

Status ImagGradient(GradientContext& c) {
  GradientMath m(c);
  c.set_input_grad(0, Join(c, m, m.Number(c.grad(0), 0), c.grad(0)));
  return m.status();
}

// The gradient of the angle of x + iy is (-y + ix) / |z|^2.
Status AngleGradient(GradientContext& c) {
  GradientMath m(c);
  const Output z = c.input(0), grad = c.grad(0);
  const DType part = c.node().output_type(0);
  const Output turned = Join(c, m, Part(m, "Imag", z, part), Part(m, "Real", z, part));
  c.set_input_grad(0, m.Neg(m.Mul(Join(c, m, grad, m.Number(grad, 0)), m.Reciprocal(turned))));
  return m.status();
}

// z / |z|, and 0 at 0.
Status ComplexAbsGradient(GradientContext& c) {
  GradientMath m(c);
  const Output grad = c.grad(0), zero = m.Number(grad, 0);
  const Output scaled = m.Mul(Join(c, m, grad, zero), c.input(0));
  c.set_input_grad(0, m.Op("DivNoNan", {scaled, Join(c, m, c.output(0), zero)}));
  return m.status();
}

Status ComplexGradient(GradientContext& c) {
  GradientMath m(c);
  const Output grad = c.grad(0);
  const DType part = c.node().input_type(0);
  m.SetBroadcast(Part(m, "Real", grad, part), Part(m, "Imag", grad, part));
  return m.status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(complex) {
  const auto part = [&](const char* op, GradientFn gradient, const char* doc) {
    registry.Op(op).Shape(UnchangedShape).Gradient(gradient).Doc(doc);
  };
  part("Angle", AngleGradient, "The angles of complex numbers, in (-pi, pi].");
  part("ComplexAbs", ComplexAbsGradient, "The absolute values of complex numbers.");
  part("Imag", ImagGradient, "The imaginary parts of complex numbers.");
  part("Real", RealGradient, "The real parts of complex numbers.");
  registry.Op("Complex")
      .Shape(BroadcastBinaryShape)
      .Gradient(ComplexGradient)
      .Doc("Complex numbers made of their real and imaginary parts.");
}
