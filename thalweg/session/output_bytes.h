// SPDX-License-Identifier: Apache-2.0
// InferOutputBytes: how large the values of a step are when its feeds have certain shapes.
// Ownership: the sizes are the caller's; nodes are those of the step's graph.
// Threads: any, while nobody changes the step.
// Errors: InvalidArgument where a shape function refuses the fed shapes.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "thalweg/passes/pass.h"

namespace thalweg {

// Adds, for every node of the step's graph, the bytes of its outputs as executor/memory_plan.h
// wants them. `feeds` by number of the signature. Fails where a shape function refuses the fed
// shapes.
Status InferOutputBytes(const StepGraph& step, std::span<const Tensor> feeds,
                        std::unordered_map<const Node*, std::vector<int64_t>>* bytes);

}  // namespace thalweg
