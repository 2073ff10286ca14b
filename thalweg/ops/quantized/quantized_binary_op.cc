// SPDX-License-Identifier: Apache-2.0
#include "thalweg/ops/quantized/range_shape.h"

namespace thalweg {
namespace {

Status BinaryShape(ShapeContext& c) {
  RETURN_IF_ERROR(BroadcastBinaryShape(c));
  RETURN_IF_ERROR(ScalarInputs(c, 2, 4));
  ScalarOutputs(c, 1);
  return OkStatus();
}

Status BiasAddShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(PartialShape x, c.InputWithRankAtLeast(0, 2));
  ASSIGN_OR_RETURN(const PartialShape bias, c.InputWithRank(1, 1));
  RETURN_IF_ERROR(ScalarInputs(c, 2, 4));
  if (x.known_rank()) {
    const int last = x.rank() - 1;
    const Result<int64_t> channels = MergeDims(x.dim(last), bias.dim(0));
    RETURN_IF_ERROR(Explained(
        channels.status(),
        "as many biases are needed as the last dimension of the input has: ", bias, " vs. ", x));
    x.set_dim(last, *channels);
  }
  c.set_output(0, x);
  ScalarOutputs(c, 1);
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(quantized_binary) {
  registry.Op("QuantizedAdd")
      .Shape(BinaryShape)
      .NotDifferentiable(kNotDifferentiable)
      .Doc("Sums of levels, in a range with room for them.");
  registry.Op("QuantizedMul")
      .Shape(BinaryShape)
      .NotDifferentiable(kNotDifferentiable)
      .Doc("Products of levels, in a range with room for them.");
  registry.Op("QuantizedBiasAdd")
      .Shape(BiasAddShape)
      .NotDifferentiable(kNotDifferentiable)
      .Doc("Levels and a bias for each channel, summed in a range with room for them.");
}
