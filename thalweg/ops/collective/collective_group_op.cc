// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

Status GroupShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 2).status());
  RETURN_IF_ERROR(c.InputWithRank(1, 0).status());
  RETURN_IF_ERROR(c.InputWithRank(2, 0).status());
  return ScalarShape(c);
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(collective_group) {
  registry.Op("CollectiveAssignGroupV2")
      .Shape(GroupShape)
      .NotDifferentiable("its outputs are integers")
      .Doc(
          "Size and key of the group, a row of the assignment, in which a device's number stands.");
}
