// SPDX-License-Identifier: Apache-2.0
// InferShapes: the same step with the shapes of all values inferred anew from those of its feeds.
//
//   ASSIGN_OR_RETURN(step, InferShapes(step, {PartialShape{32, 224, 224, 3}}));
//
// A loop's variable keeps what was known of its shape: its back edge counts for nothing else.
// Ownership: as pass.h: a new graph, which points at the library.
// Threads: as pass.h: one.
// Errors: InvalidArgument where a shape function refuses the shapes.
#pragma once

#include <vector>

#include "thalweg/graph/function.h"
#include "thalweg/passes/pass.h"

namespace thalweg {

// `shapes` by number of the feed. `library`: of the functions that the step calls; null: it calls
// none. It outlives what is made.
Result<StepGraph> InferShapes(const StepGraph& step, const std::vector<PartialShape>& shapes,
                              const FunctionLibrary* library = nullptr);

}  // namespace thalweg
