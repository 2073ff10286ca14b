// SPDX-License-Identifier: Apache-2.0
// GradientWalk: the walk backwards from ys to xs through the nodes of one frame: the graph outside
// of all loops, or the body of one loop. A loop within it is one step of the walk (LoopGradient).
// Ownership: nodes belong to the graph; the run and what the walk is made with outlive it.
// Threads: as AddGradients: one.
// Errors: Unimplemented for an operation without a gradient, NotFound for a name that nobody
// registered, InvalidArgument for a gradient function's wrong results; those of the budget.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "thalweg/autodiff/gradients.h"
#include "thalweg/autodiff/loop_frames.h"

namespace thalweg {

struct EdgeHash {
  size_t operator()(const Output& o) const {
    return std::hash<const void*>()(o.node) * 31 + static_cast<size_t>(o.index);
  }
};
using OutputSet = std::unordered_set<Output, EdgeHash>;
template <class T>
using OutputMap = std::unordered_map<Output, T, EdgeHash>;

// Where a walk is: the frame of the nodes it differentiates, and that of the nodes it makes.
struct WalkPlace {
  Frame* forward = nullptr;
  Frame* gradient = nullptr;
};

// What all walks of one AddGradients share.
struct GradientRun {
  Graph* graph = nullptr;
  const GradientOptions* options = nullptr;
  LoopFrames* frames = nullptr;
  std::unordered_set<const Node*> stops;
  std::unordered_map<const Node*, const GradientStep*> steps;  // by the nodes of their outputs
  std::string prefix;  // of the names of all nodes that the run makes
  // What was brought into loops as an invariant: by the loop, the value outside to that inside.
  std::unordered_map<const Frame*, OutputMap<Output>> invariants;

  // The run is one of a step's function: what it differentiates and what it makes are both of one
  // iteration, that of `within->place.gradient`.
  const GradientPlace* within = nullptr;

  // The loop whose iterations a node belongs to.
  Frame* FrameOf(const Node* node) const;
  // The step that ends at this node; null for others.
  const GradientStep* StepOf(const Node* node) const {
    const auto found = steps.find(node);
    return found == steps.end() ? nullptr : found->second;
  }
  // What its gradients go to.
  const std::vector<Output>& InputsOf(const Node* node) const {
    const GradientStep* const step = StepOf(node);
    return step == nullptr ? node->inputs() : step->inputs;
  }
  // A walk has come to this node.
  Status Visit(const Node& node) const {
    if (options->work == nullptr) return OkStatus();
    return options->work->Visit(1 + node.num_inputs());
  }
};

struct GradientPlace {
  const GradientRun& run;
  WalkPlace place;
  int first = 0;  // node of the function's own
};

class GradientWalk {
 public:
  // grad_ys as GradientOptions has them. All references must outlive the walk.
  GradientWalk(GradientRun& run, WalkPlace place, const std::vector<Output>& ys,
               const std::vector<GradientValue>& grad_ys, const std::vector<Output>& xs,
               GraphBuilder builder);

  // One gradient for each x, absent where no differentiable path reaches it.
  Result<std::vector<GradientValue>> Run();

 private:
  Node* UnitOf(Node* node) const;
  Node* Reach(Node* node);
  std::vector<Output> InputsToward(const Node* unit) const;
  Status FindPaths();
  Status CheckStacks(const std::unordered_set<Node*>& reached);
  bool DependsOnAnX(Frame* loop);
  bool EndsAtEnters() const;
  Status Seed();
  Output OnesLike(const Output& y, size_t i);
  Status Visit(Node* unit);
  Status VisitNode(Node* node);
  Status VisitLoop(Frame* loop);
  Status VisitStep(const GradientStep& step);
  GradientValue TakeGradient(const Output& output);
  void HandOver(const Output& input, const GradientValue& gradient);
  void Settle(const Node* unit);
  bool LeadsToAnX(const Node* node) const;
  bool IsOnPath(const Output& output) const;
  Result<std::vector<GradientValue>> Differentiate(const Node& node,
                                                   std::vector<GradientValue> output_grads);

  GradientRun& run_;
  const WalkPlace place_;
  const std::vector<Output>& ys_;
  const std::vector<GradientValue>& grad_ys_;
  const std::vector<Output>& xs_;
  const OutputSet wanted_;
  GraphBuilder builder_;
  // The units on a path from an x to a y: a node, of a loop its LoopCond, of a step the node of its
  // first output; with the number of consumers on paths that have not handed their gradient over
  // yet.
  std::unordered_map<Node*, int> pending_;
  std::unordered_map<const Node*, Frame*> loops_;  // by LoopCond
  OutputMap<std::vector<GradientValue>> partials_;
  std::vector<Node*> ready_;
  OutputMap<GradientValue> results_;
};

}  // namespace thalweg
