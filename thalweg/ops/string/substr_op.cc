// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

Status SubstrShape(ShapeContext& c) {
  const PartialShape &pos = c.input(1), &len = c.input(2);
  RETURN_IF_ERROR(
      Explained(CheckRank(len.rank(), pos.rank()), "pos and len must have the same shape"));
  if (!pos.IsCompatibleWith(len)) {
    return InvalidArgument("pos and len must have the same shape, got ", pos, " and ", len);
  }
  ASSIGN_OR_RETURN(const PartialShape place, pos.MergeWith(len));
  ASSIGN_OR_RETURN(PartialShape shape, BroadcastShapes(c.input(0), place));
  c.set_output(0, std::move(shape));
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(substr) {
  registry.Op("Substr")
      .Shape(SubstrShape)
      .NotDifferentiable("strings have no derivative")
      .Doc("len bytes or characters of strings, from pos on; from the end when pos is negative.");
  registry.Op("StringLength")
      .Shape(UnchangedShape)
      .NotDifferentiable("its output is an integer")
      .Doc("How many bytes or UTF-8 characters strings have.");
}
