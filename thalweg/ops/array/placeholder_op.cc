// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/gradient_context.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

// Graphs of producers before this one wrote a scalar's shape where they knew none.
constexpr int kScalarShapeMeansScalar = 22;

Status PlaceholderShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(PartialShape shape, c.Attr<PartialShape>("shape"));
  const bool old = c.node().graph().versions().producer < kScalarShapeMeansScalar;
  if (old && shape.known_rank() && shape.rank() == 0) shape = PartialShape::Unknown();
  c.set_output(0, std::move(shape));
  return OkStatus();
}

Status PlaceholderV2Shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(PartialShape shape, c.Attr<PartialShape>("shape"));
  c.set_output(0, std::move(shape));
  return OkStatus();
}

// A fed value need only fit the attribute, so that is all that is certain.
Status PlaceholderWithDefaultShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(PartialShape shape, c.Attr<PartialShape>("shape"));
  if (!shape.IsCompatibleWith(c.input(0))) {
    return InvalidArgument("the default has shape ", c.input(0), ", which does not fit shape ",
                           shape);
  }
  c.set_output(0, std::move(shape));
  return OkStatus();
}

Status PassGradient(GradientContext& c) {
  c.set_input_grad(0, c.grad_value(0));
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(placeholder) {
  registry.Op("Placeholder")
      .Shape(PlaceholderShape)
      .NotDifferentiable("a placeholder has no inputs")
      .Doc("Stands for a value that must be fed.");
  registry.Op("PlaceholderV2")
      .Shape(PlaceholderV2Shape)
      .NotDifferentiable("a placeholder has no inputs")
      .Doc("Stands for a value that must be fed.");
  registry.Op("PlaceholderWithDefault")
      .Shape(PlaceholderWithDefaultShape)
      .Gradient(PassGradient)
      .Doc("Stands for a value that may be fed, and is the input otherwise.");
}
