// SPDX-License-Identifier: Apache-2.0
#include "thalweg/autodiff/loop_writer.h"

#include "thalweg/graph/node_maker.h"

namespace thalweg {

Node* LoopWriter::Placed(Node* node, Frame* frame) {
  if (node != nullptr) run_.frames->Place(node, frame);
  return node;
}

Output LoopWriter::Enter(const Output& value, bool is_constant) {
  Node* const enter = b_.OpNode("Enter", {value},
                                {{"frame_name", frame_->name},
                                 {"is_constant", is_constant},
                                 {"parallel_iterations", frame_->parallel_iterations}});
  return {Placed(enter, frame_), 0};
}

void LoopWriter::SetCondition(const Output& value) {
  condition_ = Placed(b_.OpNode("LoopCond", {value}), frame_);
  frame_->condition = condition_;
}

int LoopWriter::Start(const Output& initial, const PartialShape& shape) {
  const Output enter = Enter(initial, false);
  Variable variable;
  if (enter.node != nullptr) {
    variable.merged = {Placed(b_.OpNode("Merge", {enter, Output()}), frame_), 0};
  }
  if (variable.merged.node != nullptr) {
    const Status status = NodeMaker::RefineShape(variable.merged, shape);
    if (!status.ok()) b_.Fail(status);
  }
  variables_.push_back(variable);
  return static_cast<int>(variables_.size()) - 1;
}

Node* LoopWriter::SwitchOf(int i) {
  Variable& variable = variables_[static_cast<size_t>(i)];
  if (variable.switch_node == nullptr && b_.ok()) {
    variable.switch_node = OpNode("Switch", {variable.merged, {condition_, 0}});
  }
  return variable.switch_node;
}

Output LoopWriter::body(int i) { return {SwitchOf(i), 1}; }

void LoopWriter::Finish(int i, const Output& next) {
  Node* const again = OpNode("NextIteration", {next});
  if (again == nullptr) return;
  Status status = run_.graph->SetBackEdge(merged(i).node, 1, {again, 0});
  if (!status.ok()) b_.Fail(std::move(status));
}

Output LoopWriter::Exit(int i) {
  Node* const last = SwitchOf(i);
  if (last == nullptr) return {};
  return {Placed(b_.OpNode("Exit", {{last, 0}}), frame_->parent), 0};
}

Output LoopWriter::Invariant(const Output& outside) {
  if (!b_.ok()) return {};
  OutputMap<Output>& known = run_.invariants[frame_];
  if (const auto found = known.find(outside); found != known.end()) return found->second;
  Output source = outside;
  const LoopFrames& frames = *run_.frames;
  if (frames.IsPlaced(outside.node)) {
    const Frame* const from = run_.FrameOf(outside.node);
    if (from == frame_) return outside;
    if (from != frame_->parent && LoopFrames::Contains(from, frame_->parent)) {
      source = LoopWriter(run_, frame_->parent, b_).Invariant(outside);
      if (!b_.ok()) return {};
    }
  }
  const Output entered = Enter(source, true);
  run_.invariants[frame_][outside] = entered;
  return entered;
}

Node* LoopWriter::OpNode(std::string_view op, std::vector<Output> inputs, AttrMap attrs) {
  return Placed(b_.OpNode(op, std::move(inputs), std::move(attrs)), frame_);
}

Output LoopWriter::Op(std::string_view op, std::vector<Output> inputs, AttrMap attrs) {
  return {OpNode(op, std::move(inputs), std::move(attrs)), 0};
}

Output LoopWriter::Const(const Tensor& value) {
  Node* const node =
      b_.WithControls({pivot_}).OpNode("Const", {}, {{"dtype", value.dtype()}, {"value", value}});
  return {Placed(node, frame_), 0};
}

}  // namespace thalweg
