// SPDX-License-Identifier: Apache-2.0
// ColocationGroups: which nodes must be on one device, by union-find: a node that takes a reference
// or a resource handle and the node that makes it; nodes that say `loc:@name` in attribute
// "_class"; the two ends of a loop's back edge.
//
//   ColocationGroups groups(graph);
//   groups.Members(groups.Find(*node));    // all nodes of its group, the first made first
//
// Ownership: the graph outlives it; Members points at its nodes.
// Threads: const members from any; one makes it, while nobody adds nodes.
// Errors: none; a name that is no node groups nothing.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "thalweg/graph/graph.h"

namespace thalweg {

class ColocationGroups {
 public:
  // Groups the nodes that are there now.
  explicit ColocationGroups(const Graph& graph);

  int num_nodes() const { return static_cast<int>(nodes_.size()); }
  // The group's number: the id of one of its nodes.
  int Find(const Node& node) const { return root_[node.id()]; }
  std::vector<const Node*> Members(int group) const;
  // Why `node` is in its group: "takes the reference of Variable 'v'", or "" for a reason on the
  // other side.
  std::string Reason(const Node& node) const;

 private:
  int Root(int id);
  void Join(int a, int b);

  std::vector<Node*> nodes_;
  std::vector<int> root_;
  std::vector<int> next_;  // a ring through the members of each group
};

// The names after "loc:@" in a node's attribute "_class".
std::vector<std::string> ColocationNames(const Node& node);

}  // namespace thalweg
