// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/ops/math/matmul_shape.h"

THALWEG_OP(fused_matmul) {
  registry.Op("_FusedMatMul")
      .Shape(MatMulShape)
      .NotDifferentiable("rewrites make it, after gradients are made")
      .Doc("The product of two matrices, then what fused_ops names, in one pass.");
}
