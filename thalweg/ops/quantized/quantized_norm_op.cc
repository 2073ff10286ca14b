// SPDX-License-Identifier: Apache-2.0
#include "thalweg/ops/quantized/range_shape.h"

namespace thalweg {
namespace {

Status InstanceNormShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape x, c.InputWithRank(0, 4));
  RETURN_IF_ERROR(ScalarInputs(c, 1, 2));
  c.set_output(0, x);
  ScalarOutputs(c, 1);
  return OkStatus();
}

// t, mean, variance, beta, gamma: each with the ends of its range.
Status BatchNormShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(PartialShape t, c.InputWithRank(0, 4));
  int64_t channels = t.dim(3);
  for (int i = 3; i < 15; i += 3) {
    ASSIGN_OR_RETURN(const PartialShape vector, c.InputWithRank(i, 1));
    ASSIGN_OR_RETURN(channels, MergeDims(channels, vector.dim(0)));
  }
  for (int i = 0; i < 15; i += 3) RETURN_IF_ERROR(ScalarInputs(c, i + 1, 2));
  t.set_dim(3, channels);
  c.set_output(0, t);
  ScalarOutputs(c, 1);
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(quantized_norm) {
  registry.Op("QuantizedInstanceNorm")
      .Shape(InstanceNormShape)
      .NotDifferentiable(kNotDifferentiable)
      .Doc("Levels of images whose channels each get mean 0 and variance 1.");
  registry.Op("QuantizedBatchNormWithGlobalNormalization")
      .Shape(BatchNormShape)
      .NotDifferentiable(kNotDifferentiable)
      .Doc("Batch norm of levels with a given mean and variance.");
}
