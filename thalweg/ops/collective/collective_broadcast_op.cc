// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/ops/collective/collective_shapes.h"

namespace thalweg {
namespace {

Status SendShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape declared, c.Attr<PartialShape>("shape"));
  ASSIGN_OR_RETURN(PartialShape shape, c.input(0).MergeWith(declared));
  c.set_output(0, std::move(shape));
  return OkStatus();
}

Status RecvShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(PartialShape shape, c.Attr<PartialShape>("shape"));
  c.set_output(0, std::move(shape));
  return OkStatus();
}

Status RecvShapeOfInput(ShapeContext& c) {
  RETURN_IF_ERROR(CheckKeyShapes(c, 0));
  RETURN_IF_ERROR(c.InputWithRank(3, 1).status());
  const Tensor value = c.InputValue(3);
  if (!value.empty()) RETURN_IF_ERROR(ShapeOf(value, "shape").status());
  c.set_output(0, c.InputAsShape(3));
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(collective_broadcast) {
  const auto add = [&](std::string_view name, ShapeFn shape, std::string_view doc) {
    registry.Op(name).Shape(shape).NotDifferentiable(kWhyNoCollectiveGradient).Doc(doc);
  };
  add("CollectiveBcastSend", SendShape, "Gives its input to all members of a group.");
  add("CollectiveBcastSendV2", UnchangedCollectiveShape,
      "Gives its input to all members of a group; the keys are inputs.");
  add("CollectiveBcastRecv", RecvShape, "What the sender of a group gives.");
  add("CollectiveBcastRecvV2", RecvShapeOfInput,
      "What the sender of a group gives; the keys are inputs.");
}
