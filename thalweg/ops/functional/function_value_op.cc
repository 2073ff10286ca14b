// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

Status FakeParamShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(PartialShape shape, c.Attr<PartialShape>("shape"));
  // What is not known of it is given as nothing.
  if (!shape.known_rank()) shape = Shape();
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape.dim(i) < 0) shape.set_dim(i, 0);
  }
  c.set_output(0, std::move(shape));
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(function_value) {
  registry.Op("FakeParam")
      .Shape(FakeParamShape)
      .NotDifferentiable("it has no inputs")
      .Doc("Stands for a value that only another branch has.");
  registry.Op("DeviceIndex")
      .Shape(ScalarShape)
      .NotDifferentiable("it has no inputs")
      .Doc("Where the kind of its device is in a list; the list's length when it is not.");
  registry.Op("ToBool")
      .Shape(ScalarShape)
      .NotDifferentiable("a truth value is no number")
      .Doc("Whether a scalar is not zero or empty, and any other tensor has elements.");
}
