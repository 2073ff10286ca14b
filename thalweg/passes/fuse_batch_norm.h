// SPDX-License-Identifier: Apache-2.0
// FuseBatchNorms: batch normalization takes along what follows it, so that images are read and
// written fewer times, with the same bits; gradients of floats alone:
//
//   Relu(FusedBatchNormV3(x, ...))                    -> _FusedBatchNormEx
//   Relu(Add(FusedBatchNormV3(x, ...), side))         -> _FusedBatchNormEx
//   FusedBatchNormGradV3(ReluGrad(dy, y), x, ...)     -> _FusedBatchNormGradEx
//
// y being of the first kind, in training. Only where nobody else sees what lies between, on one
// device, without colocation. `side` must have the shape of x, as far as is known before the step.
// Part of FuseEpilogues.
// Ownership: as pass.h: a new graph, or the one given.
// Threads: as pass.h: one.
// Errors: those of the step's budget.
#pragma once

#include "thalweg/passes/pass.h"

namespace thalweg {

Result<StepGraph> FuseBatchNorms(const StepGraph& step);

}  // namespace thalweg
