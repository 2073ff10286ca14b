// SPDX-License-Identifier: Apache-2.0
// FoldBatchNorms: a batch normalization with constant statistics behind a convolution or a product
// with constant weights becomes part of these weights and of a bias.
//
//   ASSIGN_OR_RETURN(step, FoldBatchNorms(step));
//
// So does any product with a constant for each channel, as the parts of a normalization are written
// one by one. Of float32 and float64; what others read between the two stays. The new weights are
// rounded once, from float64: results differ from those before by about as much as one rounding of
// each weight makes, so no session does this by itself.
// Ownership: as pass.h: a new graph, or the one given; it owns the new weights.
// Threads: as pass.h: one.
// Errors: those of the step's budget; ResourceExhausted where there is no memory for weights.
#pragma once

#include "thalweg/passes/pass.h"

namespace thalweg {

Result<StepGraph> FoldBatchNorms(const StepGraph& step);

}  // namespace thalweg
