// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/gradient_context.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

Status SwitchShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(1, 0).status());
  return UnchangedShape(c);
}

// The branch that was taken brings a live gradient, the other a dead one: Merge takes the live one.
Status SwitchGradient(GradientContext& c) {
  const Output pred = c.input(1);
  if (pred.node->control() == Node::Control::kLoopCond) {
    return Unimplemented("the Switch of a while loop is differentiated with its loop, not alone");
  }
  if (!c.has_grad(0) && !c.has_grad(1)) return OkStatus();
  c.set_input_grad(0, c.b().Op("Merge", {c.grad(0), c.grad(1)}));
  return c.b().status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(switch) {
  registry.Op("Switch")
      .Shape(SwitchShape)
      .Gradient(SwitchGradient)
      .Doc("Passes data on to output_true or output_false as pred says; the other output is dead.");
  registry.Op("RefSwitch")
      .Shape(SwitchShape)
      .Gradient(SwitchGradient)
      .Doc("Switch of a reference to a variable.");
}
