// SPDX-License-Identifier: Apache-2.0
// LoopGradient: the gradient of one while loop, as another while loop that makes as many
// iterations (A4.4c). It carries the gradients of the loop's variables from the last iteration to
// the first and sums up those of its invariants. Loops in loops, and gradients of gradients, are
// the same again.
//
// Ownership: nodes belong to the graph, frames to the run; both outlive it.
// Threads: as AddGradients: one.
// Errors: Unimplemented, which names the loop, for a loop of an unusual form.
#pragma once

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "thalweg/autodiff/loop_memory.h"
#include "thalweg/autodiff/walk.h"

namespace thalweg {

// For Enters of the loop, the gradient of what enters there.
using LoopInputGradients = std::vector<std::pair<Node*, GradientValue>>;

class LoopGradient {
 public:
  // New nodes that are in no loop of their own are in frame `outer`.
  LoopGradient(GradientRun& run, Frame* loop, Frame* outer, const GraphBuilder& b);

  // exit_grads: by variable; absent for those whose last value nothing depends on. is_wanted says
  // whether the gradient of what enters is of interest.
  Result<LoopInputGradients> Add(std::vector<GradientValue> exit_grads,
                                 const std::function<bool(const Output&)>& is_wanted);

 private:
  struct Carried {
    LoopVariable forward;
    int index = 0;    // of the variable in the loop of gradients
    Output gradient;  // after an iteration
  };
  struct Summed {
    Node* enter = nullptr;
    GradientValue gradient;  // of one iteration
  };
  Status Check() const;
  void FindActive(const std::vector<GradientValue>& exit_grads,
                  const std::function<bool(const Output&)>& is_wanted);
  std::unordered_set<const Node*> ReachBack(
      const std::vector<GradientValue>& exit_grads,
      std::unordered_map<const Node*, std::vector<const Node*>>* readers) const;
  Output Initial(const LoopVariable& variable, const GradientValue& grad);
  void StartLoop(std::vector<Output> initial);
  Status DifferentiateBody();
  Output Dense(const GradientValue& grad, const Output& of);
  Output Sum(const Output& source, const Output& gradient);
  Output CollectParts(const Output& element_shape, const Output& first, const Output& part);
  GradientValue CollectRows(const Output& source, const GradientValue& rows);
  LoopInputGradients Finish();

  GradientRun& run_;
  Frame* const loop_;
  Frame* const outer_;
  GraphBuilder b_;
  std::optional<LoopMemory> memory_;
  std::optional<LoopWriter> back_;
  Node* count_ = nullptr;  // where the loop of gradients starts
  std::vector<Carried> carried_;
  std::vector<Node*> active_invariants_;
  std::vector<Summed> summed_;
};

}  // namespace thalweg
