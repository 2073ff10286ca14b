// SPDX-License-Identifier: Apache-2.0
// Pass: rewrites the graph of one step into another that computes the same.
//
//   ASSIGN_OR_RETURN(StepGraph step, Prune(*user_graph, {.fetches = {y}}));
//   ASSIGN_OR_RETURN(step, MergeCommonSubexpressions(step));
//
// A pass never changes its input: it makes a new Graph, or gives back the same one where nothing is
// to be done. In every StepGraph the nodes' ids are a topological order, back edges of loops
// excepted, so a pass is one loop over Nodes().
// Ownership: a StepGraph shares its graph; the user's graph and the budget outlive it.
// Threads: one for each step, as the budget counts; a graph that is made is read by any.
// Errors: those of the step's budget (Visit); those of a pass are its own.
#pragma once

#include <memory>
#include <vector>

#include "thalweg/base/status.h"
#include "thalweg/base/work_budget.h"
#include "thalweg/graph/graph.h"

namespace thalweg {

struct StepGraph {
  std::shared_ptr<Graph> graph;
  // feeds[i] stands for feed i: output 0 of a Placeholder, which never runs; null where the step
  // does not need the feed.
  std::vector<Output> feeds;
  std::vector<Output> fetches;
  std::vector<Node*> targets;
  // By id: the user's node that this one is, or stands in for; null for nodes a pass made. The
  // user's graph must outlive the StepGraph.
  std::vector<const Node*> origins;
  // What the passes may still visit, and count there; null: as much as they like.
  WorkBudget* work = nullptr;

  const Node* Origin(const Node& node) const { return origins[node.id()]; }
  bool IsFeed(const Node& node) const;
  // A pass has come to this node.
  Status Visit(const Node& node) const {
    if (work == nullptr) return OkStatus();
    return work->Visit(1 + node.num_inputs() + static_cast<int64_t>(node.control_inputs().size()));
  }
};

// "Placeholder", "PlaceholderV2", "PlaceholderWithDefault": places for feeds.
bool IsPlaceholder(const Node& node);

}  // namespace thalweg
