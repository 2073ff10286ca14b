// SPDX-License-Identifier: Apache-2.0
// LoopMemory: makes the values of a loop's iterations available to the loop that computes its
// gradient. What gradient functions read of the forward loop is, in this order of preference,
// entered again (invariants), made again (constants, shapes that are known, zeros, the Switches of
// conditionals), or remembered: pushed to a stack in the forward loop and popped in the other,
// each value once. A value of a conditional's branch is remembered only where the branch was taken.
// Ownership: nodes belong to the graph; run and loop outlive it.
// Threads: as AddGradients: one.
// Errors: Unimplemented for a node of the gradient that reads another loop, both named; others
// stick in the builder.
#pragma once

#include <map>
#include <vector>

#include "thalweg/autodiff/loop_writer.h"

namespace thalweg {

class LoopMemory {
 public:
  // Nodes added to the forward loop and around it get the builder's scope.
  LoopMemory(GradientRun& run, Frame* loop, GraphBuilder b);

  // The number of iterations that the loop made, for the frame around it.
  Output AddCounter();
  // The last value of a variable of the loop, for the frame around it.
  Output LastValue(const LoopVariable& variable);

  // Makes nodes [first, end) of the graph, which were made for the body of `back`, part of it:
  // whatever they read of the forward loop they get from here. So do `results`.
  Status MoveInto(LoopWriter& back, int first, int end, const std::vector<Output*>& results);

 private:
  struct Record {
    std::vector<Output> values;
  };
  Output Canonical(Output value) const;
  Output AroundLoop(std::string_view op, AttrMap attrs);
  Output Scalar(int64_t value);
  void MoveShapesForward(const std::vector<Node*>& nodes);
  void Need(const Output& value);
  void NeedGates(int gates);
  Output ShapeInLoop(const Output& value);
  void Remember(LoopWriter& back, int gates, const Record& record);
  // `value` through the Switches of the gates; their other outputs go to `others`.
  Output ThroughGates(LoopWriter& writer, LoopWriter* back, Output value, int gates,
                      std::vector<Output>* others);
  Output Replacement(LoopWriter& back, const Output& value);
  Output MakeReplacement(LoopWriter& back, const Output& value);
  bool IsInvariant(const Output& value) const { return invariants_.contains(value.node); }
  Status Connect(LoopWriter& back, Node* node);

  GradientRun& run_;
  Frame* const loop_;
  GraphBuilder b_;
  LoopWriter forward_;
  Node* anchor_ = nullptr;
  const std::unordered_set<const Node*> invariants_;
  std::map<int, Record> records_;  // by gates
  OutputSet needed_;
  OutputMap<Output> shapes_;
  OutputMap<Output> replacements_;
};

}  // namespace thalweg
