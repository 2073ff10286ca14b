// SPDX-License-Identifier: Apache-2.0
// FoldVariables: puts constants in the place of variables, for a graph that is written without
// them: what freezing a model is.
//
//   ASSIGN_OR_RETURN(step, FoldVariables(step, {{"dense/kernel", kernel}}));
//
// `values` by the name of the node that holds the variable, in a step whose functions are expanded.
// What reads a variable reads the constant, also through branches and loops. Identities that pass
// one value on, and control edges from nodes whose running nobody sees, go.
// Ownership: as pass.h: a new graph, which shares the buffers of `values`.
// Threads: as pass.h: one.
// Errors: FailedPrecondition for a node that does more with a variable than read it; it names the
// node and the variable.
#pragma once

#include <map>
#include <string>

#include "thalweg/passes/pass.h"

namespace thalweg {

using VariableValues = std::map<std::string, Tensor, std::less<>>;

Result<StepGraph> FoldVariables(const StepGraph& step, const VariableValues& values);

}  // namespace thalweg
