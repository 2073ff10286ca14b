// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/ops/collective/collective_shapes.h"

namespace thalweg {
namespace {

Status ScatterShape(ShapeContext& c) {
  RETURN_IF_ERROR(CheckKeyShapes(c, 1));
  ASSIGN_OR_RETURN(PartialShape shape, c.InputWithRankAtLeast(0, 1));
  const int64_t size = GroupSize(c, 1);
  if (shape.known_rank()) {
    const int64_t rows = shape.dim(0);
    if (rows >= 0 && size >= 1 && rows % size != 0) {
      return InvalidArgument("dimension 0 must be a multiple of the group's size ", size,
                             ", got shape ", shape);
    }
    shape.set_dim(0, rows < 0 || size < 1 ? PartialShape::kUnknownDim : rows / size);
  }
  c.set_output(0, std::move(shape));
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(collective_reduce) {
  registry.Op("CollectiveReduce")
      .Shape(UnchangedShape)
      .NotDifferentiable(kWhyNoCollectiveGradient)
      .Doc("The values of all members of a group, merged; every member gets the result.");
  registry.Op("CollectiveReduceV2")
      .Shape(UnchangedCollectiveShape)
      .NotDifferentiable(kWhyNoCollectiveGradient)
      .Doc("The values of all members of a group, merged; the keys are inputs.");
  registry.Op("CollectiveReduceScatterV2")
      .Shape(ScatterShape)
      .NotDifferentiable(kWhyNoCollectiveGradient)
      .Doc("The values of all members of a group, merged; every member gets its part of the rows.");
}
