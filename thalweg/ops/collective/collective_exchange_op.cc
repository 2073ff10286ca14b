// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/ops/collective/collective_shapes.h"

namespace thalweg {
namespace {

Status JoinedShape(ShapeContext& c) {
  if (c.node().FindAttr("group_key") == nullptr) RETURN_IF_ERROR(CheckKeyShapes(c, 1));
  ASSIGN_OR_RETURN(PartialShape shape, c.InputWithRankAtLeast(0, 1));
  if (shape.known_rank()) {
    const int64_t size = GroupSize(c, 1);
    int64_t rows = PartialShape::kUnknownDim;
    if (shape.dim(0) >= 0 && size >= 1 && __builtin_mul_overflow(shape.dim(0), size, &rows)) {
      return InvalidArgument("a group of ", size, " with shape ", shape,
                             " has more than 2^63 rows");
    }
    shape.set_dim(0, rows);
  }
  c.set_output(0, std::move(shape));
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(collective_exchange) {
  registry.Op("CollectiveGather")
      .Shape(JoinedShape)
      .NotDifferentiable(kWhyNoCollectiveGradient)
      .Doc("The values of all members of a group, joined along dimension 0 by rank.");
  registry.Op("CollectiveGatherV2")
      .Shape(JoinedShape)
      .NotDifferentiable(kWhyNoCollectiveGradient)
      .Doc("The values of all members of a group, joined by rank; the keys are inputs.");
  registry.Op("CollectiveAllToAllV2")
      .Shape(UnchangedCollectiveShape)
      .NotDifferentiable(kWhyNoCollectiveGradient)
      .Doc("Row s of what the member of rank r gets is row r of what that of rank s brought.");
}
