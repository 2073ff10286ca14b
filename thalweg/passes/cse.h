// SPDX-License-Identifier: Apache-2.0
// MergeCommonSubexpressions: nodes that compute the same from the same inputs become one (A5.1).
//
// The same means: operation, attributes, device constraint, inputs (in any order where the
// operation is commutative) and control inputs. Never merged: stateful and random operations,
// feeds, control flow, nodes with references in or out, large tensors of one value. The node made
// first stays.
// Ownership: as pass.h: a new graph, or the one given.
// Threads: as pass.h: one.
// Errors: those of the step's budget.
#pragma once

#include "thalweg/passes/pass.h"

namespace thalweg {

Result<StepGraph> MergeCommonSubexpressions(const StepGraph& step);

}  // namespace thalweg
