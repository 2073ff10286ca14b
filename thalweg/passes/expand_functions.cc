// SPDX-License-Identifier: Apache-2.0
#include "thalweg/passes/expand_functions.h"

#include <algorithm>

#include "thalweg/passes/function_expander.h"
#include "thalweg/passes/graph_copier.h"

namespace thalweg {
namespace {

class StepExpander {
 public:
  StepExpander(const StepGraph& step, const FunctionLibrary& library, const ExpandOptions& options)
      : step_(step),
        copier_(step),
        expander_(copier_.graph(), library, options),
        conditional_(static_cast<size_t>(step.graph->num_nodes())),
        frames_(static_cast<size_t>(step.graph->num_nodes())) {
    copier_.graph().library().SetParent(&library);
  }

  Result<StepGraph> Run() {
    const std::vector<Node*> nodes = step_.graph->Nodes();
    if (std::none_of(nodes.begin(), nodes.end(),
                     [&](const Node* node) { return expander_.IsCall(*node); })) {
      return step_;
    }
    for (const Node* node : nodes) {
      FindContext(*node);
      if (!expander_.IsCall(*node)) {
        copier_.Copy(*node);
        continue;
      }
      Status status = ExpandCall(*node);
      if (!status.ok()) {
        std::string where = node->Label();
        if (node->site() != 0)
          where += StrCat(" (created at ", node->graph().Site(node->site()), ")");
        return status.WithContext(where);
      }
    }
    ASSIGN_OR_RETURN(StepGraph made, copier_.Finish());
    made.targets.insert(made.targets.end(), effects_.begin(), effects_.end());
    return made;
  }

 private:
  // Whether the node may be dead or run in a loop, and in how many loops its values are.
  void FindContext(const Node& node) {
    bool conditional = false;
    int frames = 0;
    const auto look = [&](const Node* before) {
      if (before->id() >= node.id()) return;
      conditional |= conditional_[before->id()] || before->control() == Node::Control::kSwitch ||
                     before->control() == Node::Control::kEnter;
      frames = std::max(frames, frames_[before->id()]);
    };
    for (const Output& input : node.inputs()) look(input.node);
    for (const Node* before : node.control_inputs()) look(before);
    if (node.control() == Node::Control::kEnter) ++frames;
    if (node.control() == Node::Control::kExit) frames = std::max(frames - 1, 0);
    conditional_[node.id()] = conditional;
    frames_[node.id()] = frames;
  }

  Status ExpandCall(const Node& node) {
    Call call{node, {}, {}};
    for (const Output& input : node.inputs()) call.inputs.push_back(copier_.Map(input));
    for (const Node* before : node.control_inputs()) {
      Node* const control = copier_.Map(before);
      if (control != nullptr) call.controls.push_back(control);
    }
    CallScope scope;
    scope.device = node.device();
    if (conditional_[node.id()]) {
      std::vector<Node*> alive = std::move(call.controls);
      call.controls.clear();
      for (const Output& input : call.inputs) {
        ASSIGN_OR_RETURN(Node * live, expander_.Liveness(input, scope));
        alive.push_back(live);
      }
      NodeSpec gate;
      gate.name = copier_.graph().UniqueName(StrCat(node.name(), "/before"));
      gate.op = "NoOp";
      gate.control_inputs = std::move(alive);
      ASSIGN_OR_RETURN(scope.gate, copier_.graph().AddNode(std::move(gate)));
      if (!node.control_inputs().empty()) scope.before = scope.gate;
    }
    ASSIGN_OR_RETURN(const Expansion made, expander_.Expand(call, scope));
    return Replace(node, made, scope);
  }

  // Readers of the call's outputs read the body's; who waits for the call waits for its effects.
  Status Replace(const Node& node, const Expansion& made, const CallScope& scope) {
    std::vector<Node*> ends;
    for (size_t i = 0; i < made.outputs.size(); ++i) {
      const Output value = made.outputs[i];
      copier_.Redirect({const_cast<Node*>(&node), static_cast<int>(i)}, value);
      if (made.after == nullptr) {
        ASSIGN_OR_RETURN(Node * live, expander_.Liveness(value, scope));
        ends.push_back(live);
      }
    }
    Node* after = made.after;
    if (after != nullptr && frames_[node.id()] == 0) effects_.push_back(after);
    if (after == nullptr) {
      NodeSpec done;
      done.name = copier_.graph().UniqueName(node.name());
      done.op = "NoOp";
      done.control_inputs = std::move(ends);
      if (scope.gate != nullptr && done.control_inputs.empty()) {
        done.control_inputs.push_back(scope.gate);
      }
      ASSIGN_OR_RETURN(after, copier_.graph().AddNode(std::move(done)));
    }
    copier_.Replace(node, after);
    return OkStatus();
  }

  const StepGraph& step_;
  GraphCopier copier_;
  FunctionExpander expander_;
  std::vector<bool> conditional_;  // by id of the step
  std::vector<int> frames_;        // by id of the step
  std::vector<Node*> effects_;
};

}  // namespace

Result<StepGraph> ExpandFunctions(const StepGraph& step, const FunctionLibrary& library,
                                  const ExpandOptions& options) {
  return StepExpander(step, library, options).Run();
}

}  // namespace thalweg
