// SPDX-License-Identifier: Apache-2.0
// FuseEpilogues: a matrix product of floats and what is done to its result next become one
// _FusedMatMul:
//
//   MatMul -> BiasAdd (or Add of a row) [-> Add of a matrix] [-> Relu, Relu6, Elu, Tanh, Sigmoid,
//   LeakyRelu]
//
// Only where nobody else sees the values between: one reader, not fetched, no control edges from
// them, the same device, no colocation. Values keep their bits. The new node has the name of the
// last one, the place of the first one, and "_fused_from" with all of them, which its errors say.
//
// MarkWeights: products whose b is a weight, a constant or a variable that nothing in the step
// writes, become _FusedMatMul with "_weight", the weight's name: their kernels keep it packed from
// step to step (ops/math/fused_matmul_cpu.cc). Loops are looked through.
#pragma once

#include "thalweg/passes/pass.h"

namespace thalweg {

Result<StepGraph> FuseEpilogues(const StepGraph& step);
Result<StepGraph> MarkWeights(const StepGraph& step);

}  // namespace thalweg
