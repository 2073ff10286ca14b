// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/gradient_context.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

Status LoopCondShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 0).status());
  return ScalarShape(c);
}

// These have a gradient only as parts of a loop, which autodiff/ rewrites as a whole.
Status LoopGradient(GradientContext& c) {
  return Unimplemented(c.node().op_name(), " is differentiated with its while loop, not alone");
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(loop) {
  registry.Op("Enter")
      .Shape(UnchangedShape)
      .Gradient(LoopGradient)
      .Doc(
          "Brings data into the frame of a loop: into its first iteration, or into all "
          "(is_constant).");
  registry.Op("Exit")
      .Shape(UnchangedShape)
      .Gradient(LoopGradient)
      .Doc("Brings data out of the frame of a loop.");
  registry.Op("NextIteration")
      .Shape(UnchangedShape)
      .Gradient(LoopGradient)
      .Doc("Brings data into the next iteration of its loop.");
  registry.Op("LoopCond")
      .Shape(LoopCondShape)
      .NotDifferentiable("a condition is no number")
      .Doc("Marks the condition that the Switches of a loop read.");
  registry.Op("RefEnter")
      .Shape(UnchangedShape)
      .Gradient(LoopGradient)
      .Doc("Enter of a reference to a variable.");
  registry.Op("RefExit")
      .Shape(UnchangedShape)
      .Gradient(LoopGradient)
      .Doc("Exit of a reference to a variable.");
  registry.Op("RefNextIteration")
      .Shape(UnchangedShape)
      .Gradient(LoopGradient)
      .Doc("NextIteration of a reference to a variable.");
}
