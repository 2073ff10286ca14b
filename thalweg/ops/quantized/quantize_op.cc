// SPDX-License-Identifier: Apache-2.0
// Reals to levels and back.
#include "thalweg/ops/quantized/range_shape.h"

namespace thalweg {
namespace {

// The ends of the range: one number, or with an axis one for each entry along it.
Result<PartialShape> EndsShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const int64_t axis, c.Attr<int64_t>("axis"));
  if (axis < -1) return InvalidArgument("axis should be at least -1, got ", axis);
  if (axis == -1) {
    for (int i = 1; i < 3; ++i) {
      const int64_t count = c.input(i).num_elements();
      if (count == 1 || !c.input(i).IsFullyDefined()) continue;
      return InvalidArgument("without an axis the range has one number at each end, got shape ",
                             c.input(i).ToString());
    }
    return PartialShape(Shape{});
  }
  PartialShape ends{-1};
  if (c.input(0).known_rank()) {
    if (axis >= c.input(0).rank()) {
      return InvalidArgument("axis must be less than the input's rank, ", c.input(0).rank(),
                             ", got ", axis);
    }
    ends = PartialShape{c.input(0).dim(static_cast<int>(axis))};
  }
  for (int i = 1; i < 3; ++i) {
    ASSIGN_OR_RETURN(const PartialShape given, c.InputWithRank(i, 1));
    ASSIGN_OR_RETURN(ends, ends.MergeWith(given));
  }
  return ends;
}

Status QuantizeShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape ends, EndsShape(c));
  c.set_output(0, c.input(0));
  c.set_output(1, ends);
  c.set_output(2, ends);
  return OkStatus();
}

Status DequantizeShape(ShapeContext& c) {
  RETURN_IF_ERROR(EndsShape(c).status());
  return UnchangedShape(c);
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(quantize) {
  registry.Op("QuantizeV2")
      .Shape(QuantizeShape)
      .NotDifferentiable(kNotDifferentiable)
      .Doc("The levels nearest to reals, with the range that they stand for.");
  registry.Op("Dequantize")
      .Shape(DequantizeShape)
      .NotDifferentiable(kNotDifferentiable)
      .Doc("The reals that levels stand for.");
}
