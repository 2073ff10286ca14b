// SPDX-License-Identifier: Apache-2.0
#include "thalweg/passes/expand_functions.h"

#include <algorithm>

#include "thalweg/passes/call_counts.h"
#include "thalweg/passes/control_context.h"
#include "thalweg/passes/function_expander.h"
#include "thalweg/passes/graph_copier.h"

namespace thalweg {
namespace {

class StepExpander {
 public:
  StepExpander(const StepGraph& step, const FunctionLibrary& library, const ExpandOptions& options)
      : step_(step),
        library_(library),
        options_(options),
        copier_(step),
        expander_(copier_.graph(), library, options),
        contexts_(step.graph->num_nodes()) {
    copier_.graph().library().SetParent(&library);
  }

  Result<StepGraph> Run() {
    const std::vector<Node*> nodes = step_.graph->Nodes();
    if (std::none_of(nodes.begin(), nodes.end(),
                     [&](const Node* node) { return expander_.IsCall(*node); })) {
      return step_;
    }
    CallCounts counts(expander_, library_, copier_.graph().shared_registry(), options_);
    for (const Node* node : nodes) {
      if (Status status = counts.Add(*node); !status.ok()) return AtCall(*node, status);
    }
    forwards_ = expander_.FindForwardCalls({nodes.begin(), nodes.end()}, *step_.graph);
    for (const Node* node : nodes) {
      RETURN_IF_ERROR(step_.Visit(*node));
      contexts_.Add(*node);
      if (!expander_.IsCall(*node)) {
        copier_.Copy(*node);
        continue;
      }
      Status status = ExpandCall(*node);
      if (!status.ok()) return AtCall(*node, status);
    }
    ASSIGN_OR_RETURN(StepGraph made, copier_.Finish());
    made.targets.insert(made.targets.end(), effects_.begin(), effects_.end());
    if (expander_.late().empty()) return made;
    return MakeLateGradients(std::move(made), expander_.late(), options_);
  }

 private:
  static Status AtCall(const Node& node, const Status& status) {
    std::string where = node.Label();
    if (node.site() != 0) where += StrCat(" (created at ", node.graph().Site(node.site()), ")");
    return status.WithContext(where);
  }

  Status ExpandCall(const Node& node) {
    Call call{.node = node,
              .may_be_dead = contexts_.conditional(node),
              .in_loop = contexts_.frames(node) > 0};
    for (const Output& input : node.inputs()) call.inputs.push_back(copier_.Map(input));
    for (const Node* before : node.control_inputs()) {
      Node* const control = copier_.Map(before);
      if (control != nullptr) call.controls.push_back(control);
    }
    FunctionExpander::Connect(forwards_, &call);
    CallScope scope;
    scope.device = node.device();
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
    if (after != nullptr && contexts_.frames(node) == 0) effects_.push_back(after);
    if (after == nullptr) {
      NodeSpec done;
      done.name = copier_.graph().UniqueName(node.name());
      done.op = "NoOp";
      done.control_inputs = std::move(ends);
      if (made.entry != nullptr && done.control_inputs.empty()) {
        done.control_inputs.push_back(made.entry);
      }
      ASSIGN_OR_RETURN(after, copier_.graph().AddNode(std::move(done)));
    }
    copier_.Replace(node, after);
    return OkStatus();
  }

  const StepGraph& step_;
  const FunctionLibrary& library_;
  const ExpandOptions& options_;
  GraphCopier copier_;
  FunctionExpander expander_;
  ControlContexts contexts_;
  ForwardCalls forwards_;
  std::vector<Node*> effects_;
};

}  // namespace

Result<StepGraph> ExpandFunctions(const StepGraph& step, const FunctionLibrary& library,
                                  const ExpandOptions& options) {
  return StepExpander(step, library, options).Run();
}

namespace {

// What an error left: a loop that is not closed would keep the graph from being written.
Status CloseOpenLoops(Graph* graph, int first) {
  for (Node* const node : graph->Nodes()) {
    if (node->id() < first || node->control() != Node::Control::kMerge) continue;
    for (int i = 0; i < node->num_inputs(); ++i) {
      if (node->input(i).node != nullptr) continue;
      NodeSpec next;
      next.name = StrCat(node->name(), "/open");
      next.op = "NextIteration";
      next.inputs = {{node, 0}};
      next.make_unique = true;
      ASSIGN_OR_RETURN(Node * back, graph->AddNode(std::move(next)));
      RETURN_IF_ERROR(graph->SetBackEdge(node, i, {back, 0}));
    }
  }
  return OkStatus();
}

Result<std::vector<Output>> ExpandCallInto(Graph* graph, const Node& call, std::string_view prefix,
                                           const ExpandOptions& options) {
  FunctionExpander expander(*graph, graph->library(), options);
  if (!expander.IsCall(call)) return FailedPrecondition(call.Label(), " calls no function");
  CallCounts counts(expander, graph->library(), graph->shared_registry(), options);
  if (Status status = counts.Add(call); !status.ok()) return status.WithContext(call.Label());
  ControlContexts contexts(graph->num_nodes());
  for (const Node* node : graph->Nodes()) contexts.Add(*node);
  CallScope scope;
  scope.prefix = StrCat(prefix, "/");
  scope.device = call.device();
  ASSIGN_OR_RETURN(Expansion made,
                   expander.Expand({.node = call,
                                    .inputs = {call.inputs().begin(), call.inputs().end()},
                                    .controls = call.control_inputs(),
                                    .may_be_dead = contexts.conditional(call),
                                    .in_loop = contexts.frames(call) > 0},
                                   scope));
  if (!expander.late().empty()) {
    return Unimplemented(call.Label(), " has gradients in it that only whole steps expand");
  }
  NodeSpec done;
  done.name = StrCat(scope.prefix, call.name(), "/done");
  done.op = "NoOp";
  done.make_unique = true;
  if (made.after != nullptr) done.control_inputs.push_back(made.after);
  if (made.entry != nullptr) done.control_inputs.push_back(made.entry);
  for (const Output& output : made.outputs) {
    ASSIGN_OR_RETURN(Node * live, expander.Liveness(output, scope));
    done.control_inputs.push_back(live);
  }
  RETURN_IF_ERROR(graph->AddNode(std::move(done)).status());
  return std::move(made.outputs);
}

}  // namespace

Result<std::vector<Output>> ExpandCall(Graph* graph, const Node& call, std::string_view prefix,
                                       const ExpandOptions& options) {
  const int first = graph->num_nodes();
  Result<std::vector<Output>> made = ExpandCallInto(graph, call, prefix, options);
  if (!made.ok()) RETURN_IF_ERROR(CloseOpenLoops(graph, first));
  return made;
}

}  // namespace thalweg
