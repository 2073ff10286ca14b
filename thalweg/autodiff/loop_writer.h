// SPDX-License-Identifier: Apache-2.0
// LoopWriter: adds nodes to a loop: variables, invariants, and what the body computes. The loop is
// one that is being built, or one that is there and gets more variables.
//
//   LoopWriter w(run, frame, builder);
//   const int i = w.Start(zero, Shape());
//   w.SetCondition(w.Op("Less", {w.merged(i), w.Invariant(limit)}));
//   w.Finish(i, w.Op("AddV2", {w.body(i), w.Invariant(one)}));
//   Output last = w.Exit(i);
//
// Every node is placed in the run's frames.
// Ownership: nodes belong to the graph; run and frame outlive it.
// Threads: as AddGradients: one.
// Errors: those of AddNode stick in the builder.
#pragma once

#include <string_view>
#include <vector>

#include "thalweg/autodiff/walk.h"
#include "thalweg/graph/graph_builder.h"

namespace thalweg {

class LoopWriter {
 public:
  LoopWriter(GradientRun& run, Frame* frame, GraphBuilder b)
      : run_(run), frame_(frame), b_(std::move(b)), condition_(frame->condition) {}

  // Ends the condition of a loop that is being built, before the first use of body().
  void SetCondition(const Output& value);
  // A variable with this value before the first iteration.
  int Start(const Output& initial, const PartialShape& shape);
  const Output& merged(int i) const { return variables_[static_cast<size_t>(i)].merged; }
  // The value that an iteration starts with; dead after the last.
  Output body(int i);
  // What the next iteration starts with.
  void Finish(int i, const Output& next);
  // The value after the last iteration, for the frame around the loop.
  Output Exit(int i);

  // A value from outside of the loop, the same in all iterations; one Enter a value and loop. A
  // node that is not placed yet is taken to be in the frame around the loop.
  Output Invariant(const Output& outside);
  // A node of the loop.
  Output Op(std::string_view op, std::vector<Output> inputs, AttrMap attrs = {});
  Node* OpNode(std::string_view op, std::vector<Output> inputs, AttrMap attrs = {});
  // A constant of the body; needs SetPivot.
  Output Const(const Tensor& value);
  // A node that runs in every iteration and not after the last.
  void SetPivot(Node* pivot) { pivot_ = pivot; }
  Node* pivot() const { return pivot_; }

  Frame* frame() const { return frame_; }
  const GraphBuilder& builder() const { return b_; }
  const Status& status() const { return b_.status(); }

 private:
  struct Variable {
    Output merged;
    Node* switch_node = nullptr;
  };
  Node* Placed(Node* node, Frame* frame);
  Output Enter(const Output& value, bool is_constant);
  Node* SwitchOf(int i);

  GradientRun& run_;
  Frame* const frame_;
  GraphBuilder b_;
  Node* condition_;
  Node* pivot_ = nullptr;
  std::vector<Variable> variables_;
};

}  // namespace thalweg
