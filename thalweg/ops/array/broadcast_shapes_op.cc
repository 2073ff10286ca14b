// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

Status BroadcastArgsShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape a, c.InputWithRank(0, 1));
  ASSIGN_OR_RETURN(const PartialShape b, c.InputWithRank(1, 1));
  const bool known = a.dim(0) >= 0 && b.dim(0) >= 0;
  c.set_output(0, PartialShape{known ? std::max(a.dim(0), b.dim(0)) : PartialShape::kUnknownDim});
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(broadcast_shapes) {
  registry.Op("BroadcastArgs")
      .Shape(BroadcastArgsShape)
      .NotDifferentiable("it computes with shapes")
      .Doc("The shape that two shapes broadcast to.");
}
