// SPDX-License-Identifier: Apache-2.0
// Comparisons and logic: two inputs that broadcast, a truth value each.
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

// With incompatible_shape_error = false, shapes that do not broadcast give one scalar.
Status EqualShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const bool strict, c.Attr<bool>("incompatible_shape_error"));
  if (strict) return BroadcastBinaryShape(c);
  Result<PartialShape> shape = BroadcastShapes(c.input(0), c.input(1));
  if (!shape.ok()) {
    c.set_output(0, PartialShape{});
  } else if (shape->IsFullyDefined() && c.input(0).IsFullyDefined() &&
             c.input(1).IsFullyDefined()) {
    c.set_output(0, *shape);
  }
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(compare) {
  constexpr const char* kWhy = "truth values have no derivatives";
  for (const char* op : {"Equal", "NotEqual"}) {
    registry.Op(op).Shape(EqualShape).NotDifferentiable(kWhy).Doc("Compares element by element.");
  }
  for (const char* op :
       {"Less", "LessEqual", "Greater", "GreaterEqual", "LogicalAnd", "LogicalOr"}) {
    registry.Op(op)
        .Shape(BroadcastBinaryShape)
        .NotDifferentiable(kWhy)
        .Doc("Compares, or combines, element by element.");
  }
  registry.Op("ApproximateEqual")
      .Shape(MergedInputsShape)
      .NotDifferentiable(kWhy)
      .Doc("True where |x - y| < tolerance.");
}
