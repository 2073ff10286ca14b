// SPDX-License-Identifier: Apache-2.0
#include "thalweg/executor/lowering.h"

#include <algorithm>
#include <map>
#include <unordered_set>
#include <utility>

namespace thalweg {
namespace {

using Control = Node::Control;

class Lowerer {
 public:
  explicit Lowerer(const Program& program) : program_(program) {}

  Result<Lowered> Run() {
    out_.program = &program_;
    ASSIGN_OR_RETURN(out_.tree, AssignFrames(program_));
    out_.constants.emplace_back();
    out_.frames.resize(out_.tree.frames.size());
    lowered_.assign(program_.nodes.size(), -1);
    constant_.assign(program_.nodes.size(), -1);
    stray_.assign(program_.nodes.size(), -1);
    MakeNodes();
    MakeLoops();
    for (int i = 0; i < static_cast<int>(program_.nodes.size()); ++i) Connect(i);
    for (size_t f = 1; f < out_.frames.size(); ++f) ConnectLoop(static_cast<int>(f));
    for (const Value& fetch : program_.fetches) out_.fetches.push_back(Map(fetch));
    for (size_t i = 0; i < waiting_.size(); ++i) {
      const auto [forward, node] = waiting_[i];
      AddControls(forward, program_.nodes[node]);
    }
    Order();
    return std::move(out_);
  }

 private:
  int New(LoweredKind kind, int origin, int frame, int num_outputs) {
    const int number = static_cast<int>(out_.nodes.size());
    LoweredNode node;
    node.kind = kind;
    node.origin = origin;
    node.frame = frame;
    node.device = program_.nodes[origin].device;
    node.num_outputs = num_outputs;
    out_.nodes.push_back(std::move(node));
    return number;
  }

  int NewMerge(int origin, int frame) {
    const int merge = New(LoweredKind::kMerge, origin, frame, 2);
    LoweredFrame& f = out_.frames[frame];
    out_.nodes[merge].number = static_cast<int>(f.merges.size());
    f.merges.push_back(merge);
    return merge;
  }

  void MakeNodes() {
    for (int i = 0; i < static_cast<int>(program_.nodes.size()); ++i) {
      const ProgramNode& node = program_.nodes[i];
      const int frame = out_.tree.frame_of[i];
      if (node.is_free_constant()) continue;
      switch (node.control) {
        case Control::kNone:
          lowered_[i] = New(node.kernel == nullptr ? LoweredKind::kForward : LoweredKind::kKernel,
                            i, frame, node.num_outputs);
          out_.nodes[lowered_[i]].lenient_controls = node.ignores_dead_controls;
          break;
        case Control::kLoopCond:
          lowered_[i] = New(LoweredKind::kForward, i, frame, 1);
          break;
        case Control::kSwitch:
          lowered_[i] = New(LoweredKind::kSwitch, i, frame, 2);
          break;
        case Control::kMerge:
          lowered_[i] = NewMerge(i, frame);
          break;
        case Control::kEnter:
          break;
        case Control::kExit: {
          const int exit = New(LoweredKind::kExit, i, out_.tree.frames[frame].parent, 1);
          out_.nodes[exit].child = frame;
          out_.nodes[exit].number = static_cast<int>(out_.frames[frame].exits.size());
          out_.frames[frame].exits.push_back(exit);
          lowered_[i] = exit;
          break;
        }
        case Control::kNextIteration:
          break;
      }
    }
  }

  void MakeLoops() {
    for (size_t f = 1; f < out_.frames.size(); ++f) {
      const FrameInfo& info = out_.tree.frames[f];
      LoweredFrame& frame = out_.frames[f];
      const int number = static_cast<int>(f);
      for (const int enter : info.enters) {
        frame.enter_invariant.push_back(-1);
        if (!program_.nodes[enter].is_constant) continue;
        const int invariant = New(LoweredKind::kInvariant, enter, number, 1);
        out_.nodes[invariant].number = static_cast<int>(frame.invariants.size());
        frame.invariants.push_back(invariant);
        frame.enter_invariant.back() = invariant;
        lowered_[enter] = invariant;
      }
      frame.loop = New(LoweredKind::kLoop, info.enters.front(), info.parent,
                       static_cast<int>(info.exits.size()));
      out_.nodes[frame.loop].child = number;
    }
  }

  int Constant(int node) {
    if (constant_[node] == -1) {
      constant_[node] = static_cast<int>(out_.constants.size());
      out_.constants.push_back(program_.nodes[node].constant);
    }
    return constant_[node];
  }

  int EnterPlace(int enter) const {
    const std::vector<int>& enters = out_.tree.frames[out_.tree.opens[enter]].enters;
    return static_cast<int>(std::lower_bound(enters.begin(), enters.end(), enter) - enters.begin());
  }

  // The node that stands for a program node's completion and outputs.
  int NodeOf(int index) {
    const ProgramNode& node = program_.nodes[index];
    if (lowered_[index] != -1 && node.control == Control::kMerge && HasControls(node)) {
      return ForwardOfMerge(index, 0);
    }
    if (lowered_[index] != -1) return lowered_[index];
    // A variable Enter read by something else than a Merge: a join of its own, dead in later
    // iterations.
    if (stray_[index] == -1) {
      const int frame = out_.tree.opens[index];
      stray_[index] = NewMerge(index, frame);
      out_.nodes[stray_[index]].is_synthetic = true;
      out_.nodes[stray_[index]].merge_inputs.push_back(
          {{.node = LoweredValue::kEntering, .index = EnterPlace(index)}, -1});
      out_.frames[frame].has_stray_enters = true;
    }
    return stray_[index];
  }

  bool HasControls(const ProgramNode& node) const {
    return std::any_of(node.control_inputs.begin(), node.control_inputs.end(),
                       [&](int before) { return !program_.nodes[before].is_free_constant(); });
  }

  // What waits for the control inputs of a Merge: stands behind it.
  int ForwardOfMerge(int index, int output) {
    const auto [at, is_new] = merge_forward_.try_emplace({index, output}, -1);
    if (is_new) {
      const int made =
          NewForward({.node = lowered_[index], .index = output}, index, out_.tree.frame_of[index]);
      out_.nodes[made].lenient_controls = true;
      at->second = made;
      // Later: what it waits for may be a Merge that waits, and so on.
      waiting_.emplace_back(made, index);
    }
    return at->second;
  }

  int NewForward(const LoweredValue& value, int origin, int frame) {
    const int forward = New(LoweredKind::kForward, origin, frame, 1);
    out_.nodes[forward].is_synthetic = true;
    out_.nodes[forward].inputs.push_back(value);
    return forward;
  }

  void AddControls(int lowered, const ProgramNode& node) {
    std::unordered_set<int> seen(out_.nodes[lowered].controls.begin(),
                                 out_.nodes[lowered].controls.end());
    for (const int before : node.control_inputs) {
      if (program_.nodes[before].is_free_constant()) continue;
      const int source = NodeOf(before);
      if (seen.insert(source).second) out_.nodes[lowered].controls.push_back(source);
    }
  }

  LoweredValue Map(const Value& value) {
    LoweredValue mapped{.index = value.index, .read_reference = value.read_reference};
    if (value.is_feed()) {
      mapped.node = LoweredValue::kFeed;
    } else if (program_.nodes[value.node].is_free_constant()) {
      mapped.node = LoweredValue::kConstant;
      mapped.index = Constant(value.node);
    } else if (program_.nodes[value.node].control == Control::kMerge &&
               HasControls(program_.nodes[value.node])) {
      mapped.node = ForwardOfMerge(value.node, value.index);
      mapped.index = 0;
    } else {
      mapped.node = NodeOf(value.node);
    }
    return mapped;
  }

  // The input of program node `index` as a value that can be sent: of a node, plain, behind the
  // node's controls.
  LoweredValue Sendable(const LoweredValue& value, int index, int frame) {
    const ProgramNode& node = program_.nodes[index];
    const bool direct = value.is_node() && !value.read_reference &&
                        out_.nodes[value.node].kind != LoweredKind::kInvariant;
    const bool has_controls = node.control != Control::kMerge && HasControls(node);
    if (direct && !has_controls) return value;
    const int forward = NewForward(value, index, frame);
    if (has_controls) AddControls(forward, node);
    return {.node = forward, .index = 0};
  }

  void Connect(int index) {
    const ProgramNode& node = program_.nodes[index];
    if (node.is_free_constant()) return;
    const int frame = out_.tree.frame_of[index];
    if (node.control == Control::kMerge) return ConnectMerge(index);
    if (node.control == Control::kEnter || node.control == Control::kNextIteration) return;
    if (node.control == Control::kExit) {
      const LoweredValue leaving = Sendable(Map(node.inputs[0]), index, frame);
      out_.nodes[lowered_[index]].leaving = leaving;
      return;
    }
    const int lowered = lowered_[index];
    std::vector<LoweredValue> inputs;
    if (node.is_constant_node()) {
      inputs.push_back({.node = LoweredValue::kConstant, .index = Constant(index)});
    }
    for (const Value& input : node.inputs) inputs.push_back(Map(input));
    out_.nodes[lowered].inputs = std::move(inputs);
    AddControls(lowered, node);
  }

  void ConnectMerge(int index) {
    const ProgramNode& node = program_.nodes[index];
    const int frame = out_.tree.frame_of[index];
    std::vector<MergeInput> inputs;
    for (const Value& input : node.inputs) {
      if (input.is_feed() || program_.nodes[input.node].is_free_constant()) {
        inputs.push_back({Sendable(Map(input), index, frame), -1});
        continue;
      }
      const ProgramNode& source = program_.nodes[input.node];
      if (source.control == Control::kNextIteration) {
        const LoweredValue value = Sendable(Map(source.inputs[0]), input.node, frame);
        inputs.push_back({value, out_.frames[frame].num_nexts++});
      } else if (source.control == Control::kEnter && !source.is_constant) {
        inputs.push_back({{.node = LoweredValue::kEntering, .index = EnterPlace(input.node)}, -1});
      } else {
        inputs.push_back({Sendable(Map(input), index, frame), -1});
      }
    }
    out_.nodes[lowered_[index]].merge_inputs = std::move(inputs);
  }

  void ConnectLoop(int frame) {
    const FrameInfo& info = out_.tree.frames[frame];
    std::vector<LoweredValue> inputs;
    for (const int enter : info.enters) {
      const ProgramNode& node = program_.nodes[enter];
      LoweredValue value = Map(node.inputs[0]);
      if (value.read_reference || HasControls(node)) {
        value = Sendable(value, enter, info.parent);
      }
      inputs.push_back(value);
    }
    out_.nodes[out_.frames[frame].loop].inputs = std::move(inputs);
  }

  template <class Visit>
  void ForEachSource(int index, const Visit& visit) const {
    const LoweredNode& node = out_.nodes[index];
    for (const LoweredValue& input : node.inputs) {
      if (input.is_node()) visit(input.node);
    }
    for (const int before : node.controls) visit(before);
    for (const MergeInput& input : node.merge_inputs) {
      if (input.value.is_node() && input.next < 0) visit(input.value.node);
    }
    if (node.kind == LoweredKind::kExit) visit(out_.frames[node.child].loop);
  }

  // Depth first from the ends, so that a value is read soon after it is made.
  void Order() {
    const int n = static_cast<int>(out_.nodes.size());
    std::vector<uint8_t> state(static_cast<size_t>(n));  // 0 new, 1 open, 2 done
    std::vector<int> stack;
    for (int root = n - 1; root >= 0; --root) {
      stack.push_back(root);
      while (!stack.empty()) {
        const int node = stack.back();
        if (state[node] == 0) {
          state[node] = 1;
          const size_t base = stack.size();
          ForEachSource(node, [&](int source) {
            if (state[source] == 0) stack.push_back(source);
          });
          std::reverse(stack.begin() + static_cast<int64_t>(base), stack.end());
          continue;
        }
        stack.pop_back();
        if (state[node] == 2) continue;
        state[node] = 2;
        out_.order.push_back(node);
      }
    }
  }

  const Program& program_;
  Lowered out_;
  std::vector<int> lowered_;
  std::vector<int> constant_;
  std::vector<int> stray_;
  std::map<std::pair<int, int>, int> merge_forward_;  // by Merge and output
  std::vector<std::pair<int, int>>
      waiting_;  // forward nodes and the Merges whose controls they get
};

}  // namespace

Result<Lowered> Lower(const Program& program) { return Lowerer(program).Run(); }

}  // namespace thalweg
