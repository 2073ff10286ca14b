// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/gradient_context.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

// The gradient is checked too.
Status CheckNumericsGradient(GradientContext& c) {
  if (!c.has_grad(0)) return OkStatus();
  c.set_input_grad(
      0,
      c.b().Op(c.node().op_name(), {c.grad(0)},
               {{"message", "Not a number (NaN) or infinity (Inf) values detected in gradient."}}));
  return c.b().status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(check_numerics) {
  registry.Op("CheckNumerics")
      .Shape(UnchangedShape)
      .Gradient(CheckNumericsGradient)
      .Doc("Its input; an error when it holds a NaN or an infinity.");
  registry.Op("CheckNumericsV2")
      .Shape(UnchangedShape)
      .Gradient(CheckNumericsGradient)
      .Doc("Its input; an error that tells NaN, Inf and -Inf apart when it holds one.");
}
