// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/gradient_context.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

Status PrintShape(ShapeContext& c) {
  c.set_output(0, c.input(0));
  return OkStatus();
}

Status PrintGradient(GradientContext& c) {
  c.set_input_grad(0, c.grad(0));
  return OkStatus();
}

Status PrintV2Shape(ShapeContext& c) { return c.InputWithRank(0, 0).status(); }

}  // namespace
}  // namespace thalweg

THALWEG_OP(print) {
  registry.Op("Print")
      .Shape(PrintShape)
      .Gradient(PrintGradient)
      .Doc("The first input; the others are written to standard error in passing.");
  registry.Op("PrintV2")
      .Shape(PrintV2Shape)
      .NotDifferentiable("it gives nothing")
      .Doc("Writes a string to standard error, standard output or a file.");
}
