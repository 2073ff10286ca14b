// SPDX-License-Identifier: Apache-2.0
#include "thalweg/autodiff/loop_frames.h"

#include <algorithm>

namespace thalweg {
namespace {

using Control = Node::Control;

// The sets of a node grow with the depth of conditionals.
constexpr size_t kMaxGates = 100;

bool IsBackEdge(const Node* node, const Output& input) {
  return node->control() == Control::kMerge && input.node != nullptr &&
         input.node->control() == Control::kNextIteration;
}

template <class T>
T AttrOr(const Node* node, std::string_view name, T otherwise) {
  const AttrValue* const value = node->FindAttr(name);
  if (value == nullptr) return otherwise;
  Result<T> typed = value->Get<T>();
  return typed.ok() ? *std::move(typed) : otherwise;
}

}  // namespace

LoopFrames::LoopFrames(const Graph& graph) {
  gate_sets_.emplace_back();
  interned_[{}] = 0;
  const std::vector<Node*> nodes = graph.Nodes();
  const bool any = std::any_of(nodes.begin(), nodes.end(),
                               [](const Node* node) { return node->control() == Control::kEnter; });
  if (!any) return;
  where_.resize(nodes.size());
  // Readers, back edges left out; then inputs first.
  std::vector<std::vector<int>> readers(nodes.size());
  std::vector<int> waits(nodes.size(), 0);
  for (const Node* node : nodes) {
    const auto add = [&](const Node* source) {
      if (source == nullptr || source->id() >= static_cast<int>(nodes.size())) return;
      readers[static_cast<size_t>(source->id())].push_back(node->id());
      ++waits[static_cast<size_t>(node->id())];
    };
    for (const Output& input : node->inputs()) {
      if (!IsBackEdge(node, input)) add(input.node);
    }
    for (const Node* before : node->control_inputs()) add(before);
  }
  std::vector<int> ready;
  for (size_t i = nodes.size(); i-- > 0;) {
    if (waits[i] == 0) ready.push_back(static_cast<int>(i));
  }
  while (!ready.empty()) {
    const int id = ready.back();
    ready.pop_back();
    Visit(nodes[static_cast<size_t>(id)]);
    for (const int reader : readers[static_cast<size_t>(id)]) {
      if (--waits[static_cast<size_t>(reader)] == 0) ready.push_back(reader);
    }
  }
  FindStructure(nodes);
}

void LoopFrames::Visit(Node* node) {
  Frame* const frame = FrameOf(node, nullptr, [&](const Node* source) { return Of(source); });
  Where& where = where_[static_cast<size_t>(node->id())];
  where.frame = frame;
  where.order = next_order_++;
  where.gates = GatesOfNode(node, frame);
  if (node->control() == Control::kEnter && frame != nullptr && node->num_inputs() == 1) {
    frame->entry_gates = Union(frame->entry_gates, GatesOf(node->input(0)));
  }
}

Frame* LoopFrames::FrameOf(const Node* node, Frame* around, const FrameOfSource& of) {
  Frame* deepest = around;
  const auto consider = [&](const Node* source) {
    if (source == nullptr) return;
    Frame* const frame = of(source);
    if (frame != around && (deepest == around || frame->depth > deepest->depth)) deepest = frame;
  };
  for (const Output& input : node->inputs()) {
    if (!IsBackEdge(node, input)) consider(input.node);
  }
  for (const Node* before : node->control_inputs()) consider(before);
  if (node->control() == Control::kExit) return deepest == around ? around : deepest->parent;
  if (node->control() != Control::kEnter) return deepest;
  const std::string name = AttrOr<std::string>(node, "frame_name", "");
  Frame*& found = by_name_[{deepest, name}];
  if (found == nullptr) found = NewFrame(name, deepest);
  found->parallel_iterations = AttrOr(node, "parallel_iterations", found->parallel_iterations);
  found->back_prop = found->back_prop && AttrOr(node, "_back_prop", true);
  return found;
}

Frame* LoopFrames::NewFrame(std::string name, Frame* parent) {
  auto frame = std::make_unique<Frame>();
  frame->name = std::move(name);
  frame->parent = parent;
  frame->depth = parent == nullptr ? 1 : parent->depth + 1;
  frames_.push_back(std::move(frame));
  return frames_.back().get();
}

void LoopFrames::FindStructure(const std::vector<Node*>& nodes) {
  for (Node* node : nodes) {
    Frame* const frame = Of(node);
    switch (node->control()) {
      case Control::kEnter:
        if (frame != nullptr && AttrOr(node, "is_constant", false))
          frame->invariants.push_back(node);
        break;
      case Control::kMerge:
        if (frame != nullptr) FindVariable(node, frame);
        break;
      case Control::kLoopCond:
        if (frame == nullptr) break;
        if (frame->condition != nullptr) {
          frame->flaw = StrCat("it has two conditions, '", frame->condition->name(), "' and '",
                               node->name(), "'");
        }
        frame->condition = node;
        break;
      default:
        break;
    }
  }
  for (Node* node : nodes) {
    Frame* const loop = LoopOfExit(node);
    if (loop == nullptr) continue;
    loop->exits.push_back(node);
    if (VariableOfExit(node) < 0) {
      loop->flaw = StrCat(node->Label(), " does not bring out a variable of the loop");
    }
  }
  for (const Node* node : nodes) {
    Frame* const frame = Of(node);
    if (frame != nullptr && frame->condition == nullptr) frame->flaw = "it has no LoopCond";
  }
}

void LoopFrames::FindVariable(Node* merge, Frame* frame) {
  const bool loops = std::any_of(merge->inputs().begin(), merge->inputs().end(),
                                 [&](const Output& input) { return IsBackEdge(merge, input); });
  if (!loops) return;
  LoopVariable variable{.merge = merge};
  for (const Output& input : merge->inputs()) {
    if (IsBackEdge(merge, input)) {
      variable.next = input.node;
    } else if (input.node != nullptr && input.node->control() == Control::kEnter) {
      variable.enter = input.node;
    }
  }
  if (merge->num_inputs() != 2 || variable.enter == nullptr) {
    frame->flaw = StrCat(merge->Label(), " does not join one Enter and one NextIteration");
    return;
  }
  variable_of_merge_[merge] = static_cast<int>(frame->variables.size());
  frame->variables.push_back(variable);
}

Frame* LoopFrames::Of(const Node* node) const {
  const auto id = static_cast<size_t>(node->id());
  return id < where_.size() ? where_[id].frame : nullptr;
}

Frame* LoopFrames::InputsOf(const Node* node) const {
  if (node->control() == Control::kExit) return LoopOfExit(node);
  Frame* const frame = Of(node);
  return node->control() == Control::kEnter && frame != nullptr ? frame->parent : frame;
}

Frame* LoopFrames::LoopOfExit(const Node* node) const {
  if (node->control() != Control::kExit || node->input(0).node == nullptr) return nullptr;
  return Of(node->input(0).node);
}

int LoopFrames::VariableOfExit(const Node* exit) const {
  const Output& value = exit->input(0);
  if (value.node->control() != Control::kSwitch || value.index != 0) return -1;
  const Output& merged = value.node->input(0);
  const Node* const predicate = value.node->input(1).node;
  if (merged.index != 0 || predicate->control() != Control::kLoopCond) return -1;
  const auto found = variable_of_merge_.find(merged.node);
  return found == variable_of_merge_.end() ? -1 : found->second;
}

bool LoopFrames::Contains(const Frame* outer, const Frame* inner) {
  while (inner != nullptr && inner != outer) inner = inner->parent;
  return inner == outer;
}

int LoopFrames::GatesOf(const Output& output) {
  const auto id = static_cast<size_t>(output.node->id());
  if (id >= where_.size()) return 0;
  const int gates = where_[id].gates;
  if (output.node->control() != Control::kSwitch) return gates;
  const Output& predicate = output.node->input(1);
  if (predicate.node->control() == Control::kLoopCond) return gates;
  if (Gates(gates).size() >= kMaxGates) {
    gates_are_too_deep_ = true;
    return gates;
  }
  GateSet more = Gates(gates);
  more.push_back({predicate, output.index});
  return Intern(std::move(more));
}

int LoopFrames::GatesOfNode(const Node* node, Frame* frame) {
  if (node->control() == Control::kEnter) return 0;
  if (Frame* const loop = LoopOfExit(node); loop != nullptr) return loop->entry_gates;
  int gates = -1;
  for (const Output& input : node->inputs()) {
    if (input.node == nullptr || IsBackEdge(node, input) || Of(input.node) != frame) continue;
    const int here = GatesOf(input);
    if (gates < 0) {
      gates = here;
    } else {
      gates = node->control() == Control::kMerge ? Intersection(gates, here) : Union(gates, here);
    }
  }
  gates = std::max(gates, 0);
  for (const Node* before : node->control_inputs()) {
    const auto id = static_cast<size_t>(before->id());
    if (id < where_.size() && Of(before) == frame) gates = Union(gates, where_[id].gates);
  }
  return gates;
}

int LoopFrames::Intern(GateSet gates) {
  const auto order = [&](const Gate& gate) {
    return std::make_pair(where_[static_cast<size_t>(gate.predicate.node->id())].order,
                          gate.predicate.index * 2 + gate.side);
  };
  std::sort(gates.begin(), gates.end(),
            [&](const Gate& a, const Gate& b) { return order(a) < order(b); });
  gates.erase(std::unique(gates.begin(), gates.end()), gates.end());
  std::vector<std::pair<int, int>> key;
  for (const Gate& gate : gates) key.push_back(order(gate));
  const auto [found, is_new] = interned_.try_emplace(key, static_cast<int>(gate_sets_.size()));
  if (is_new) gate_sets_.push_back(std::move(gates));
  return found->second;
}

int LoopFrames::Union(int a, int b) {
  if (a == b || b == 0) return a;
  if (a == 0) return b;
  if (const auto found = unions_.find({a, b}); found != unions_.end()) return found->second;
  GateSet both = Gates(a);
  const GateSet& more = Gates(b);
  both.insert(both.end(), more.begin(), more.end());
  return unions_[{a, b}] = Intern(std::move(both));
}

int LoopFrames::Intersection(int a, int b) {
  if (a == b) return a;
  GateSet common;
  for (const Gate& gate : Gates(a)) {
    const GateSet& other = Gates(b);
    if (std::find(other.begin(), other.end(), gate) != other.end()) common.push_back(gate);
  }
  return Intern(std::move(common));
}

void LoopFrames::Place(const Node* node, Frame* frame) {
  const auto id = static_cast<size_t>(node->id());
  if (id >= where_.size()) where_.resize(id + 1);
  where_[id].frame = frame;
  where_[id].order = next_order_++;
  where_[id].gates = GatesOfNode(node, frame);
}

void LoopFrames::PlaceLoops(const Graph& graph, int first, const Frame* forward, Frame* around) {
  const auto loop_of = [&](const Node* node) {
    Frame* const frame = node->id() < first || !IsPlaced(node) ? around : Of(node);
    return frame == forward ? around : frame;
  };
  const int end = graph.num_nodes();
  for (int id = first; id < end; ++id) {
    const Node* const node = graph.NodeById(id);
    if (IsPlaced(node)) continue;
    Frame* const frame = FrameOf(node, around, loop_of);
    if (frame != around) Place(node, frame);
  }
}

void LoopFrames::FindLoops(const Graph& graph) {
  for (const auto& frame : frames_) {
    frame->condition = nullptr;
    frame->variables.clear();
    frame->invariants.clear();
    frame->exits.clear();
    frame->flaw.clear();
  }
  variable_of_merge_.clear();
  FindStructure(graph.Nodes());
}

bool LoopFrames::IsPlaced(const Node* node) const {
  const auto id = static_cast<size_t>(node->id());
  return id < where_.size() && where_[id].order >= 0;
}

}  // namespace thalweg
