// SPDX-License-Identifier: Apache-2.0
// GraphCopier: makes the new graph of a pass node by node, and remembers what became of the old
// ones.
//
//   GraphCopier copier(step);
//   for (const Node* node : step.graph->Nodes()) copier.Copy(*node);
//   return copier.Finish();
//
// Copy() takes the inputs where they have gone (Map). A node that was not copied nor replaced is
// dropped: control edges from it vanish, data edges from it must not remain.
// Ownership: the old graph outlives it; it owns the new one until Finish.
// Threads: one at a time.
// Errors: those of AddNode; Finish: Internal for a feed, fetch or target that was dropped, and
// those of the step's budget.
#pragma once

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "thalweg/passes/pass.h"

namespace thalweg {

struct OutputHash {
  size_t operator()(const Output& output) const {
    return reinterpret_cast<size_t>(output.node) / 16 * 31 + static_cast<size_t>(output.index);
  }
};

class GraphCopier {
 public:
  // `from` and its nodes stay alive meanwhile.
  explicit GraphCopier(const StepGraph& from);

  Graph& graph() { return *to_.graph; }
  Node* Copy(const Node& old);
  // A new node on the device of `old`, made where that was, which it stands in for.
  Result<Node*> Make(const Node& old, NodeSpec spec);
  // The old node's place is taken by `now` as a whole.
  void Replace(const Node& old, Node* now) { nodes_[old.id()] = now; }
  // One old output's place is taken by `now`.
  void Redirect(const Output& old, const Output& now) { redirected_[old] = now; }
  // Input `index` of a Merge that was made without it is what will have become of `old_source`.
  void LeaveOpen(Node* merge, int index, const Output& old_source) {
    open_.push_back({merge, index, old_source});
  }
  // Says which user's node a new one, made by AddNode, stands in for; may be null.
  void SetOrigin(const Node& now, const Node* origin);
  // Null when dropped.
  Output Map(const Output& old) const;
  Node* Map(const Node* old) const { return nodes_[old->id()]; }
  // Closes the loops, maps feeds, fetches and targets. Internal when one of them was dropped; the
  // error of the step's budget where Copy() went beyond it.
  Result<StepGraph> Finish();

 private:
  struct OpenEdge {
    Node* merge;
    int index;
    Output old_source;
  };
  const Node* OriginOf(const Node& old) const {
    return from_.origins.empty() ? &old : from_.Origin(old);
  }

  const StepGraph& from_;
  StepGraph to_;
  std::vector<Node*> nodes_;  // by old id
  std::unordered_map<Output, Output, OutputHash> redirected_;
  std::vector<OpenEdge> open_;
  Status visited_;
};

}  // namespace thalweg
