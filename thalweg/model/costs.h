// SPDX-License-Identifier: Apache-2.0
// DescribeCosts: what a signature costs for inputs of certain shapes, as JSON: arithmetic
// operations and bytes by operation and in all, its parameters, and the most that a step holds at
// once.
//
//   ASSIGN_OR_RETURN(std::string json, DescribeCosts(*model, place, {.batch = 32}));
//
// Counted is the graph before it is rewritten (graph/op_costs.h), constants folded aside; what lies
// in a loop counts once, and is said to. The peak is that of the session's plan, without
// parameters.
// Ownership: the text is the caller's.
// Threads: any.
// Errors: InvalidArgument for shapes of no input, or that contradict it, or that the operations
// refuse; those of planning.
#pragma once

#include <map>
#include <string>

#include "thalweg/base/status.h"
#include "thalweg/model/model.h"

namespace thalweg {

struct CostOptions {
  int64_t batch = 1;  // the first dimension of inputs where the signature leaves it open
  std::map<std::string, PartialShape> shapes;  // of inputs, by name
};

// What is said of each input, with the batch where its first dimension is open.
using InputShapes = std::map<std::string, PartialShape>;
Result<InputShapes> ShapesOfInputs(const ModelSignature& signature, const CostOptions& options);

Result<std::string> DescribeCosts(const Model& model, size_t signature, const CostOptions& options);

}  // namespace thalweg
