// SPDX-License-Identifier: Apache-2.0
// Prune: the part of a graph that a step needs, as a graph of its own: everything upstream of the
// fetches and targets, over data and control edges, cut where an edge is fed.
//
//   ASSIGN_OR_RETURN(StepGraph step, Prune(graph, {.feeds = {x}, .fetches = {y}, .targets = {}}));
//
// Fed edges end in Placeholders with the fed edge's type and inferred shape. A control edge from a
// fed placeholder vanishes; one from any other node keeps that node in the step, fed or not.
// A target of the operation "_Tap" looks at another node, that of its first control input: it runs
// where that one is needed, and all that come behind that one come behind the tap too, but for
// nodes that lead from that one to the tap. So nodes that were added to a graph later can read,
// keep or hold what it computes, in steps that ask for it, while the graph stays as it is.
// Ownership: as pass.h: a new graph, whose origins point at the user's.
// Threads: as pass.h: one; others may add nodes to the user's graph meanwhile.
// Errors: InvalidArgument for a cycle that is no loop, a loop left open, and a feed that an
// operation needs as a reference to a variable; each names nodes.
#pragma once

#include <vector>

#include "thalweg/passes/pass.h"

namespace thalweg {

struct PruneRequest {
  std::vector<Output> feeds;  // each edge once
  std::vector<Output> fetches;
  std::vector<Node*> targets;
  WorkBudget* work = nullptr;  // of this and all later passes
};

// A fetch of a fed edge maps to its Placeholder.
Result<StepGraph> Prune(const Graph& graph, const PruneRequest& request);
// What other passes left over goes.
Result<StepGraph> Prune(const StepGraph& step);

}  // namespace thalweg
