// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/gradient_context.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

Status RollShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRankAtLeast(0, 1).status());
  for (int i = 1; i < 3; ++i) {
    if (c.input(i).rank() <= 1) continue;
    return InvalidArgument(i == 1 ? "shift" : "axis",
                           " must be a scalar or a 1-D vector, got shape ", c.input(i));
  }
  return UnchangedShape(c);
}

Status RollGradient(GradientContext& c) {
  if (!c.has_grad(0)) return OkStatus();
  GraphBuilder& b = c.b();
  c.set_input_grad(0, b.Op("Roll", {c.grad(0), b.Op("Neg", {c.input(1)}), c.input(2)}));
  return b.status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(roll) {
  registry.Op("Roll")
      .Shape(RollShape)
      .Gradient(RollGradient)
      .Doc(
          "A tensor with its elements moved along some dimensions; what leaves at the end comes in "
          "at "
          "the front.");
}
