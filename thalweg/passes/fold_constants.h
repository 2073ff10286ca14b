// SPDX-License-Identifier: Apache-2.0
// FoldConstants: computes once what depends on constants alone, and shapes that inference knows;
// drops nodes that constants or shapes show to give their input.
//
// Never folded: stateful and random operations, feeds, control flow and what it guards, nodes with
// control inputs, references, tensors above the limit, nodes of many outputs. A node whose kernel
// fails is left for the step to report.
// Ownership: as pass.h: a new graph, or the one given; it owns the constants. The evaluator is used
// during the call.
// Threads: as pass.h: one.
// Errors: those of the step's budget; a kernel's leaves its node.
#pragma once

#include "thalweg/kernel/evaluator.h"
#include "thalweg/passes/pass.h"

namespace thalweg {

Result<StepGraph> FoldConstants(const StepGraph& step, Evaluator& evaluator, int64_t limit_bytes);

}  // namespace thalweg
