// SPDX-License-Identifier: Apache-2.0
// StepOfSignature: what a signature computes, as a graph of its own: without calls of functions,
// loops and branches as primitives, fed at the signature's inputs.
//
//   ASSIGN_OR_RETURN(SignatureStep part, StepOfSignature(*model, place, work));
//   for (const Node* node : part.step.graph->Nodes()) ...
//
// What the graph itself has a default for is not fed: its node stays.
// Ownership: the step owns its graph, whose origins are the model's: it outlives the step.
// Threads: any.
// Errors: those of Prune and ExpandFunctions; the signature's own where it cannot be run;
// InvalidArgument for a placeholder that it does not feed.
#pragma once

#include <map>
#include <vector>

#include "thalweg/model/model.h"
#include "thalweg/passes/pass.h"

namespace thalweg {

struct SignatureStep {
  StepGraph step;  // a fetch for each output, in order
  // feed_of[i]: which feed of the step input i is; -1: none, it has a default in the graph.
  std::vector<int> feed_of;
};

// `shapes`: of inputs that are known better than the signature knows them, by name; all else is
// inferred from them.
Result<SignatureStep> StepOfSignature(const Model& model, size_t signature, WorkBudget& work,
                                      const std::map<std::string, PartialShape>& shapes = {});

}  // namespace thalweg
