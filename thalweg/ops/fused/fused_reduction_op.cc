// SPDX-License-Identifier: Apache-2.0
// _FusedReduction: element-wise nodes and the reductions of what they make, in one pass over memory
// where shapes allow it. An instruction may also be "Sum 2 axes 0,-1 keep"; see
// compute/program/reduced_program.h.
#include "thalweg/ops/fused/fused_op.h"

THALWEG_OP(fused_reduction) {
  DefineFusedOp(registry, "_FusedReduction",
                "Element-wise operations and reductions as one pass over memory.");
}
