// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

Status AssertShape(ShapeContext& c) { return c.InputWithRank(0, 0).status(); }

}  // namespace
}  // namespace thalweg

THALWEG_OP(assert) {
  registry.Op("Assert")
      .Shape(AssertShape)
      .NotDifferentiable("it has no outputs")
      .Doc("Fails the step and shows the data when the condition is false.");
  registry.Op("Abort")
      .Shape(NoOutputs)
      .NotDifferentiable("it has no inputs")
      .Doc("Fails the step with the message; the process lives on.");
}
