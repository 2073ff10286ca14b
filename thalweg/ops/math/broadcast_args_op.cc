// SPDX-License-Identifier: Apache-2.0
// BroadcastGradientArgs and BroadcastArgs: arithmetic on shapes that broadcast.
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

Status GradientArgsShape(ShapeContext& c) {
  for (int i : {0, 1}) {
    RETURN_IF_ERROR(c.InputWithRank(i, 1).status());
    c.set_output(i, PartialShape::OfRank(1));
  }
  return OkStatus();
}

Status BroadcastArgsShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape a, c.InputWithRank(0, 1));
  ASSIGN_OR_RETURN(const PartialShape b, c.InputWithRank(1, 1));
  const bool known = a.dim(0) >= 0 && b.dim(0) >= 0;
  c.set_output(0, PartialShape{known ? std::max(a.dim(0), b.dim(0)) : PartialShape::kUnknownDim});
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(broadcast_args) {
  registry.Op("BroadcastGradientArgs")
      .Shape(GradientArgsShape)
      .NotDifferentiable("shapes have no derivatives")
      .Doc("The dimensions along which each of two shapes is repeated to fit the other.");
  registry.Op("BroadcastArgs")
      .Shape(BroadcastArgsShape)
      .NotDifferentiable("shapes have no derivatives")
      .Doc("The shape that two shapes broadcast to.");
}
