// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

Status ImmutableConstShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(PartialShape shape, c.Attr<PartialShape>("shape"));
  c.set_output(0, std::move(shape));
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(immutable_const) {
  registry.Op("ImmutableConst")
      .Shape(ImmutableConstShape)
      .NotDifferentiable("a constant has no inputs")
      .Doc("A tensor whose bytes are the beginning of a file.");
}
