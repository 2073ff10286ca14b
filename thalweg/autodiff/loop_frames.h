// SPDX-License-Identifier: Apache-2.0
// LoopFrames: which loop each node of a graph is in, what the loops are made of, and under which
// conditions nodes run. Found from Enter, Merge, Switch, NextIteration and Exit alone, so that
// loops that came with a GraphDef are as good as others.
//
//   LoopFrames frames(graph);
//   if (const Frame* loop = frames.Of(node)) ... loop->variables ...
//
// Nodes made later are said with Place.
// Ownership: owns its Frames, which never move; the graph outlives it.
// Threads: one at a time.
// Errors: none; a loop of an unusual form has a `flaw`, which the gradient of it tells.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "thalweg/graph/graph.h"

namespace thalweg {

// Enter -> Merge <- NextIteration; Merge -> Switch -> Exit.
struct LoopVariable {
  Node* enter = nullptr;
  Node* merge = nullptr;
  Node* next = nullptr;
};

struct Frame {
  std::string name;
  Frame* parent = nullptr;
  int depth = 1;              // of a loop in the root; loops in loops have more
  Node* condition = nullptr;  // LoopCond
  std::vector<LoopVariable> variables;
  std::vector<Node*> invariants;  // Enters that serve all iterations
  std::vector<Node*> exits;
  int64_t parallel_iterations = 10;
  bool back_prop = true;  // false: gradients take its results for constants
  int entry_gates = 0;    // GateSet of what enters it
  std::string flaw;       // why it is no loop that this library can differentiate; mostly empty
};

// A node behind output `side` of a Switch runs only where the predicate has that value.
struct Gate {
  Output predicate;
  int side = 0;
  friend bool operator==(const Gate&, const Gate&) = default;
};
using GateSet = std::vector<Gate>;  // outer conditions first

class LoopFrames {
 public:
  explicit LoopFrames(const Graph& graph);

  bool empty() const { return frames_.empty(); }
  // The loop whose iterations the node runs in; null in no loop.
  Frame* Of(const Node* node) const;
  // The same of the place that its inputs come from: an Enter reads outside its loop.
  Frame* InputsOf(const Node* node) const;
  // The loop that an Exit leaves; null for any other node.
  Frame* LoopOfExit(const Node* node) const;
  // Index of the variable whose value an Exit of a loop without flaw brings out.
  int VariableOfExit(const Node* exit) const;
  // Whether a node is the Merge of a loop variable.
  bool IsVariable(const Node* merge) const { return variable_of_merge_.contains(merge); }
  // Whether `outer` is `inner` or around it. Null is around all.
  static bool Contains(const Frame* outer, const Frame* inner);

  // Conditions within its own loop under which an output is live, LoopCond apart.
  int GatesOf(const Output& output);
  // Some conditions were left out: no gradient of a loop is right then.
  bool gates_are_too_deep() const { return gates_are_too_deep_; }
  const GateSet& Gates(int id) const { return gate_sets_[static_cast<size_t>(id)]; }

  // Says where a node made after the constructor is. Its inputs must have been placed.
  void Place(const Node* node, Frame* frame);
  bool IsPlaced(const Node* node) const;
  // Places the nodes of loops among those from `first` on, which somebody else made for an
  // iteration of `around` that reads values of `forward` as its own; the other nodes are left to
  // Place.
  void PlaceLoops(const Graph& graph, int first, const Frame* forward, Frame* around);
  // Finds anew what the loops are made of, where nodes have been placed since.
  void FindLoops(const Graph& graph);
  // A loop that is being built.
  Frame* NewFrame(std::string name, Frame* parent);

 private:
  struct Where {
    Frame* frame = nullptr;
    int gates = 0;
    int order = -1;  // place in an order in which inputs come first; -1: not placed
  };
  void Visit(Node* node);
  void FindStructure(const std::vector<Node*>& nodes);
  void FindVariable(Node* merge, Frame* frame);
  using FrameOfSource = std::function<Frame*(const Node*)>;
  // What a node's sources say of it; `around` is the loop of those that say nothing.
  Frame* FrameOf(const Node* node, Frame* around, const FrameOfSource& of);
  int GatesOfNode(const Node* node, Frame* frame);
  int Intern(GateSet gates);
  int Union(int a, int b);
  int Intersection(int a, int b);

  std::vector<std::unique_ptr<Frame>> frames_;
  std::map<std::pair<Frame*, std::string>, Frame*> by_name_;
  std::vector<Where> where_;  // by node id
  std::unordered_map<const Node*, int> variable_of_merge_;
  std::vector<GateSet> gate_sets_;
  std::map<std::vector<std::pair<int, int>>, int> interned_;
  std::map<std::pair<int, int>, int> unions_;
  int next_order_ = 0;
  bool gates_are_too_deep_ = false;
};

}  // namespace thalweg
