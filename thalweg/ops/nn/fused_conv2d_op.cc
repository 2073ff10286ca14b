// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/ops/nn/conv2d_shape.h"

THALWEG_OP(fused_conv2d) {
  registry.Op("_FusedConv2D")
      .Shape(Conv2DShape)
      .NotDifferentiable("rewrites make it, after gradients are made")
      .Doc("Conv2D, then what fused_ops names, in one pass.");
}
