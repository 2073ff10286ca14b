// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/gradient_context.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

Status VariableShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(PartialShape shape, c.Attr<PartialShape>("shape"));
  // The first form of the operation wrote a scalar's shape where it knew none.
  const bool unknown = c.node().op_name() == "Variable" && shape.known_rank() && shape.rank() == 0;
  c.set_output(0, unknown ? PartialShape::Unknown() : std::move(shape));
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(variable) {
  registry.Op("VariableV2")
      .Shape(VariableShape)
      .NotDifferentiable("a variable has no inputs")
      .Doc("A tensor that lives from step to step; gives a reference to it.");
  registry.Op("Variable")
      .Shape(VariableShape)
      .NotDifferentiable("a variable has no inputs")
      .Doc("A tensor that lives from step to step; gives a reference to it.");
  registry.Op("IsVariableInitialized")
      .Shape(ScalarShape)
      .NotDifferentiable("a condition is no number")
      .Doc("Whether anything was assigned to the variable yet.");
  registry.Op("TemporaryVariable")
      .Shape(VariableShape)
      .NotDifferentiable("a variable has no inputs")
      .Doc("A variable that lives for one step, until it is destroyed.");
  registry.Op("DestroyTemporaryVariable")
      .Shape(UnchangedShape)
      .NotDifferentiable("it reads a variable that others change")
      .Doc("The last value of a temporary variable, which ends.");
}
