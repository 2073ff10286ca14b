// SPDX-License-Identifier: Apache-2.0
// Levels of 32 bits put into the range that they use.
#include "thalweg/ops/quantized/range_shape.h"

namespace thalweg {
namespace {

Status RangeShape(ShapeContext& c) {
  RETURN_IF_ERROR(ScalarInputs(c, 1, 2));
  ScalarOutputs(c, 0);
  return OkStatus();
}

Status RequantizeShape(ShapeContext& c) {
  RETURN_IF_ERROR(ScalarInputs(c, 1, c.num_inputs() - 1));
  c.set_output(0, c.input(0));
  ScalarOutputs(c, 1);
  return OkStatus();
}

// Inputs 1 and 2 have one number for all channels or one for each.
Status CheckChannelEnds(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape x, c.InputWithRank(0, 4));
  for (int i = 1; i < 3; ++i) {
    ASSIGN_OR_RETURN(const PartialShape end, c.InputWithRank(i, 1));
    if (end.dim(0) != 1) RETURN_IF_ERROR(MergeDims(end.dim(0), x.dim(3)).status());
  }
  return OkStatus();
}

Status ChannelRangeShape(ShapeContext& c) {
  RETURN_IF_ERROR(CheckChannelEnds(c));
  ScalarOutputs(c, 0);
  return OkStatus();
}

Status RequantizeChannelsShape(ShapeContext& c) {
  RETURN_IF_ERROR(CheckChannelEnds(c));
  RETURN_IF_ERROR(ScalarInputs(c, 3, 2));
  c.set_output(0, c.input(0));
  ScalarOutputs(c, 1);
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(requantize) {
  registry.Op("QuantizeDownAndShrinkRange")
      .Shape(RequantizeShape)
      .NotDifferentiable(kNotDifferentiable)
      .Doc("Levels in a narrower type, in the range that they use.");
  registry.Op("RequantizationRange")
      .Shape(RangeShape)
      .NotDifferentiable(kNotDifferentiable)
      .Doc("The range that levels use.");
  registry.Op("RequantizationRangePerChannel")
      .Shape(ChannelRangeShape)
      .NotDifferentiable(kNotDifferentiable)
      .Doc("The range that levels use whose channels have ranges of their own.");
  registry.Op("Requantize")
      .Shape(RequantizeShape)
      .NotDifferentiable(kNotDifferentiable)
      .Doc("Levels in a narrower type and another range.");
  registry.Op("RequantizePerChannel")
      .Shape(RequantizeChannelsShape)
      .NotDifferentiable(kNotDifferentiable)
      .Doc("Levels, whose channels have ranges of their own, in a narrower type and one range.");
}
