// SPDX-License-Identifier: Apache-2.0
// FuseEpilogues: a matrix product or convolution (channels last) of floats and what is done to its
// result next become one _FusedMatMul or _FusedConv2D:
//
//   MatMul -> BiasAdd (or Add of a row) [-> Add of a matrix] [-> Relu, Relu6, Elu, Tanh, Sigmoid,
//   LeakyRelu]
//   Conv2D -> BiasAdd (or Add of a vector), or FusedBatchNorm with given moments [-> Add of an
//   image] [-> activation]
//
// Only where nobody else sees the values between: one reader, not fetched, no control edges from
// them, the same device, no colocation. Products keep their bits; convolutions may round otherwise
// (a normalization becomes part of the filter). The new node has the name of the last one, the
// place of the first one, and "_fused_from" with all of them, which its errors say.
//
// MarkWeights: products and convolutions, those of levels too, whose b or filter is a weight, a
// constant or a variable that nothing in the step writes, get "_weight", a name for its form (a
// MatMul becomes _FusedMatMul for that): their kernels keep it packed from step to step
// (resources/packed_weight.h). Loops are looked through.
// Ownership: as pass.h: a new graph, or the one given.
// Threads: as pass.h: one.
// Errors: those of the step's budget.
#pragma once

#include "thalweg/passes/pass.h"

namespace thalweg {

Result<StepGraph> FuseEpilogues(const StepGraph& step);
Result<StepGraph> MarkWeights(const StepGraph& step);

}  // namespace thalweg
