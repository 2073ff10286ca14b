// SPDX-License-Identifier: Apache-2.0
// _FusedElementwise: what a tree of element-wise nodes computes, in one pass over memory. Its
// instructions are "Mul 0 1", "Tanh 2"; see compute/program/program.h.
#include "thalweg/ops/fused/fused_op.h"

THALWEG_OP(fused_elementwise) {
  DefineFusedOp(registry, "_FusedElementwise",
                "Several element-wise operations as one pass over memory.");
}
