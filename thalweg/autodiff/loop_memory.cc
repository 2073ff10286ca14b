// SPDX-License-Identifier: Apache-2.0
#include "thalweg/autodiff/loop_memory.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "thalweg/graph/node_maker.h"

namespace thalweg {
namespace {

using Control = Node::Control;

// Operations that need no more than the shapes of their inputs. Their results take less memory
// than what they read.
bool ReadsShapesOnly(const Node& node) {
  for (const char* op : {"Shape", "ShapeN", "Size", "Rank", "ZerosLike"}) {
    if (node.op_name() == op) return node.input_type(0) != DType::kVariant;
  }
  return false;
}

bool IsConditionalSwitch(const Node* node) {
  return node->control() == Control::kSwitch && !node->output_is_ref(0) &&
         node->input(1).node->control() != Control::kLoopCond;
}

// The value of a shape operation when inference knows it; an empty tensor otherwise.
Tensor KnownShapeValue(const Node& node) {
  if (node.op_name() != "Shape" && node.op_name() != "Size" && node.op_name() != "Rank") return {};
  const PartialShape& shape = node.input(0).shape();
  if (!shape.IsFullyDefined()) return {};
  std::vector<int64_t> values;
  if (node.op_name() == "Shape") {
    values.assign(shape.dims().begin(), shape.dims().end());
  } else if (node.op_name() == "Rank") {
    values = {shape.rank()};
  } else {
    int64_t size = 1;
    for (const int64_t dim : shape.dims()) size *= dim;
    values = {size};
  }
  const Shape result = node.op_name() == "Shape" ? Shape{shape.rank()} : Shape();
  if (node.output_type(0) == DType::kInt64) return Tensor::Of<int64_t>(values, result);
  std::vector<int32_t> narrow;
  for (const int64_t value : values) {
    if (value > std::numeric_limits<int32_t>::max()) return {};
    narrow.push_back(static_cast<int32_t>(value));
  }
  return Tensor::Of<int32_t>(narrow, result);
}

Result<Tensor> Zero(DType dtype) {
  ASSIGN_OR_RETURN(Tensor zero, Tensor::AllocateHost(dtype, Shape()));
  if (IsPlain(dtype)) std::memset(zero.mutable_raw_data(), 0, DTypeSize(dtype));
  return zero;
}

}  // namespace

LoopMemory::LoopMemory(GradientRun& run, Frame* loop, GraphBuilder b)
    : run_(run),
      loop_(loop),
      b_(std::move(b)),
      forward_(run, loop, b_),
      invariants_(loop->invariants.begin(), loop->invariants.end()) {}

// A node without inputs that runs where the loop starts.
Output LoopMemory::AroundLoop(std::string_view op, AttrMap attrs) {
  const Output source = loop_->variables[0].enter->input(0);
  const bool always = loop_->parent == nullptr && loop_->entry_gates == 0;
  if (!always && anchor_ == nullptr) {
    anchor_ = b_.OpNode("Identity", {source}, {}, "anchor");
    if (anchor_ != nullptr) run_.frames->Place(anchor_, loop_->parent);
  }
  if (!b_.ok()) return {};
  const GraphBuilder b = always ? b_ : b_.WithControls({anchor_});
  Node* const node = GraphBuilder(b).OpNode(op, {}, std::move(attrs));
  if (node != nullptr) run_.frames->Place(node, loop_->parent);
  return {node, 0};
}

Output LoopMemory::Scalar(int64_t value) {
  return AroundLoop("Const", {{"dtype", DType::kInt64}, {"value", Tensor::Scalar(value)}});
}

Output LoopMemory::AddCounter() {
  const int i = forward_.Start(Scalar(0), Shape());
  forward_.Finish(i, forward_.Op("AddV2", {forward_.body(i), forward_.Invariant(Scalar(1))}));
  return forward_.Exit(i);
}

Output LoopMemory::LastValue(const LoopVariable& variable) {
  for (Node* exit : loop_->exits) {
    const int i = run_.frames->VariableOfExit(exit);
    if (i >= 0 && loop_->variables[static_cast<size_t>(i)].merge == variable.merge)
      return {exit, 0};
  }
  Node* const last = forward_.OpNode("Switch", {{variable.merge, 0}, {loop_->condition, 0}});
  if (last == nullptr) return {};
  Node* const exit = b_.OpNode("Exit", {{last, 0}});
  if (exit != nullptr) run_.frames->Place(exit, loop_->parent);
  return {exit, 0};
}

// Copies that are live where the value is stand for it, but not where a step of the way back ends:
// what is behind it has another derivative.
Output LoopMemory::Canonical(Output value) const {
  for (;;) {
    const Node* const node = value.node;
    if (run_.StepOf(node) != nullptr) return value;
    const bool is_copy = node->op_name() == "Identity" && !node->output_is_ref(0);
    const bool is_loop_value = node->control() == Control::kSwitch && value.index == 1 &&
                               node->input(1).node->control() == Control::kLoopCond;
    if (!is_copy && !is_loop_value) return value;
    const Output& source = node->input(0);
    if (run_.frames->Of(source.node) != loop_ || source.node->output_is_ref(source.index) ||
        run_.frames->GatesOf(source) != run_.frames->GatesOf(value)) {
      return value;
    }
    value = source;
  }
}

// Shapes of forward values are taken in the forward loop, so that the values need not be kept.
void LoopMemory::MoveShapesForward(const std::vector<Node*>& nodes) {
  for (const Node* node : nodes) {
    if (run_.frames->IsPlaced(node) || !ReadsShapesOnly(*node)) continue;
    const bool forward =
        std::all_of(node->inputs().begin(), node->inputs().end(),
                    [&](const Output& input) { return run_.frames->Of(input.node) == loop_; });
    if (forward) run_.frames->Place(node, loop_);
  }
}

Output LoopMemory::ShapeInLoop(const Output& value) {
  Output& shape = shapes_[value];
  if (shape.node == nullptr) shape = forward_.Op("Shape", {value}, {{"out_type", DType::kInt64}});
  return shape;
}

void LoopMemory::NeedGates(int gates) {
  const GateSet set = run_.frames->Gates(gates);
  for (const Gate& gate : set) Need(gate.predicate);
}

// Enters into the records what it takes to have `value` in the other loop.
void LoopMemory::Need(const Output& wanted) {
  const Output value = Canonical(wanted);
  if (!b_.ok() || !needed_.insert(value).second || IsInvariant(value)) return;
  NeedGates(run_.frames->GatesOf(value));
  const Node& node = *value.node;
  if (node.op_name() == "Const" || !KnownShapeValue(node).empty()) return;
  if (node.op_name() == "ZerosLike" && ReadsShapesOnly(node)) {
    const Output shape = ShapeInLoop(node.input(0));
    if (b_.ok()) Need(shape);
  } else if (IsConditionalSwitch(&node)) {
    Need(node.input(0));
  } else {
    records_[run_.frames->GatesOf(value)].values.push_back(value);
  }
}

Output LoopMemory::ThroughGates(LoopWriter& writer, LoopWriter* back, Output value, int gates,
                                std::vector<Output>* others) {
  const GateSet set = run_.frames->Gates(gates);
  for (const Gate& gate : set) {
    const Output predicate = back == nullptr ? gate.predicate : Replacement(*back, gate.predicate);
    Node* const parts = writer.OpNode("Switch", {value, predicate});
    if (parts == nullptr) return {};
    if (others != nullptr) others->push_back({parts, 1 - gate.side});
    value = {parts, gate.side};
  }
  return value;
}

// One record an iteration, in which the values of these gates are live.
void LoopMemory::Remember(LoopWriter& back, int gates, const Record& record) {
  const int kept = forward_.Start(AroundLoop("_EmptyLoopStack", {}), Shape());
  std::vector<Output> ends;
  std::vector<Output> push = {ThroughGates(forward_, nullptr, forward_.body(kept), gates, &ends)};
  std::vector<DType> types;
  std::vector<PartialShape> shapes;
  for (const Output& value : record.values) {
    push.push_back(value);
    types.push_back(value.dtype());
    shapes.push_back(value.shape());
  }
  ends.push_back(forward_.Op("_PushLoopStack", std::move(push), {{"T", types}}));
  const auto joined = [](LoopWriter& writer, const std::vector<Output>& parts) {
    return parts.size() == 1 ? parts[0] : writer.Op("Merge", parts);
  };
  forward_.Finish(kept, joined(forward_, ends));
  const int found = back.Start(forward_.Exit(kept), Shape());
  ends.clear();
  const Output taken = ThroughGates(back, &back, back.body(found), gates, &ends);
  Node* const pop = back.OpNode("_PopLoopStack", {taken}, {{"T", types}, {"shapes", shapes}});
  if (pop == nullptr) return;
  ends.push_back({pop, 0});
  back.Finish(found, joined(back, ends));
  for (size_t i = 0; i < record.values.size(); ++i) {
    replacements_[record.values[i]] = {pop, static_cast<int>(i) + 1};
  }
}

Output LoopMemory::Replacement(LoopWriter& back, const Output& wanted) {
  if (!b_.ok()) return {};
  const Output value = Canonical(wanted);
  if (const auto found = replacements_.find(value); found != replacements_.end())
    return found->second;
  const Output made = MakeReplacement(back, value);
  replacements_[value] = made;
  return made;
}

Output LoopMemory::MakeReplacement(LoopWriter& back, const Output& value) {
  Node& node = *value.node;
  if (IsInvariant(value)) return back.Invariant(node.input(0));
  if (IsConditionalSwitch(&node)) {
    const Output data = Replacement(back, node.input(0));
    const Output predicate = Replacement(back, node.input(1));
    return {back.OpNode("Switch", {data, predicate}), value.index};
  }
  const int gates = run_.frames->GatesOf(value);
  Tensor known = KnownShapeValue(node);
  if (node.op_name() == "Const") {
    const Result<Tensor> attr = node.Attr<Tensor>("value");
    if (!attr.ok()) {
      b_.Fail(attr.status());
      return {};
    }
    known = *attr;
  }
  if (!known.empty()) return ThroughGates(back, &back, back.Const(known), gates, nullptr);
  if (node.op_name() == "ZerosLike" && b_.ok()) {
    const Output shape = Replacement(back, ShapeInLoop(node.input(0)));
    const Result<Tensor> zero = Zero(value.dtype());
    if (!zero.ok()) b_.Fail(zero.status());
    if (!b_.ok()) return {};
    return back.Op("Fill", {shape, back.Const(*zero)}, {{"index_type", DType::kInt64}});
  }
  b_.Fail(Internal("nothing of ", node.Label(), " was remembered for the gradient of its loop"));
  return {};
}

Status LoopMemory::Connect(LoopWriter& back, Node* node) {
  LoopFrames& frames = *run_.frames;
  for (int i = 0; i < node->num_inputs(); ++i) {
    const Output input = node->input(i);
    if (input.node == nullptr) continue;
    const Frame* const from = frames.Of(input.node);
    if (from == back.frame()) continue;
    // A gradient function may read what it likes of the graph around the loop.
    if (from != loop_ && !LoopFrames::Contains(from, back.frame())) {
      return Unimplemented(node->Label(), " in the gradient of the while loop '", loop_->name,
                           "' reads '", input, "' of another loop");
    }
    const Output replaced = from == loop_ ? Replacement(back, input) : back.Invariant(input);
    RETURN_IF_ERROR(b_.status());
    RETURN_IF_ERROR(NodeMaker::ReplaceInput(node, i, replaced));
  }
  std::vector<Node*> before;
  for (Node* control : node->control_inputs()) {
    if (frames.Of(control) == frames.Of(node)) before.push_back(control);
  }
  // Every node of an iteration waits for something of it.
  if (before.empty() && node->num_inputs() == 0) before.push_back(back.pivot());
  if (before != node->control_inputs()) NodeMaker::ReplaceControlInputs(node, std::move(before));
  return OkStatus();
}

Status LoopMemory::MoveInto(LoopWriter& back, int first, int end,
                            const std::vector<Output*>& results) {
  RETURN_IF_ERROR(b_.status());
  LoopFrames& frames = *run_.frames;
  std::vector<Node*> nodes;
  for (int id = first; id < end; ++id) {
    Node* const node = run_.graph->NodeById(id);
    // Other threads may have added nodes of their own.
    if (node->name().starts_with(run_.prefix)) nodes.push_back(node);
  }
  MoveShapesForward(nodes);
  for (const Node* node : nodes) {
    if (!frames.IsPlaced(node)) frames.Place(node, back.frame());
  }
  std::erase_if(nodes, [&](Node* node) { return frames.InputsOf(node) != back.frame(); });
  for (const Node* node : nodes) {
    for (const Output& input : node->inputs()) {
      if (input.node != nullptr && frames.Of(input.node) == loop_) Need(input);
    }
  }
  for (const Output* result : results) {
    if (frames.Of(result->node) == loop_) Need(*result);
  }
  RETURN_IF_ERROR(b_.status());
  // A condition comes before what it is the condition of.
  std::vector<int> order;
  for (const auto& [gates, record] : records_) order.push_back(gates);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return frames.Gates(a).size() < frames.Gates(b).size(); });
  for (const int gates : order) Remember(back, gates, records_.at(gates));
  RETURN_IF_ERROR(b_.status());
  for (Node* node : nodes) RETURN_IF_ERROR(Connect(back, node));
  for (Output* result : results) {
    if (frames.Of(result->node) == loop_) *result = Replacement(back, *result);
  }
  return b_.status();
}

}  // namespace thalweg
