// SPDX-License-Identifier: Apache-2.0
// FunctionGradients: the gradients that ExpandFunctions wants of a function's outputs: dense, and
// none where no path leads.
//
//   ASSIGN_OR_RETURN(step, ExpandFunctions(step, library, {.gradients = FunctionGradients}));
//
// Ownership: nodes belong to the graph.
// Threads: any.
// Errors: those of AddGradients.
#pragma once

#include <vector>

#include "thalweg/passes/expand_functions.h"

namespace thalweg {

Result<std::vector<Output>> FunctionGradients(Graph* graph, const std::vector<Output>& ys,
                                              const std::vector<Output>& xs,
                                              const std::vector<Output>& grad_ys, const Node* at,
                                              WorkBudget* work);

}  // namespace thalweg
