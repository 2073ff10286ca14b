// SPDX-License-Identifier: Apache-2.0
// ControlContexts: which nodes of a graph may be dead or run in a loop, and in how many loops their
// values are.
//
//   ControlContexts contexts(graph.num_nodes());
//   for (const Node* node : in_order) contexts.Add(*node);  // sources first, but for back edges
//   if (contexts.conditional(*node)) ...
//
// Ownership: none.
// Threads: one.
// Errors: none.
#pragma once

#include <vector>

#include "thalweg/graph/graph.h"

namespace thalweg {

class ControlContexts {
 public:
  explicit ControlContexts(int num_nodes)
      : conditional_(static_cast<size_t>(num_nodes)), frames_(static_cast<size_t>(num_nodes)) {}

  void Add(const Node& node);

  // Behind a Switch or an Enter.
  bool conditional(const Node& node) const { return conditional_[static_cast<size_t>(node.id())]; }
  int frames(const Node& node) const { return frames_[static_cast<size_t>(node.id())]; }

 private:
  std::vector<bool> conditional_;  // by id
  std::vector<int> frames_;        // by id
};

}  // namespace thalweg
