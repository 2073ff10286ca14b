// SPDX-License-Identifier: Apache-2.0
// Gradients of calls that are in the same graph. The calls' bodies are there, once: a gradient
// reads what they computed. It is made when the graph is whole, as a gradient changes loops.
#include <algorithm>
#include <unordered_set>

#include "thalweg/graph/function_calls.h"
#include "thalweg/graph/node_maker.h"
#include "thalweg/passes/function_expander.h"
#include "thalweg/passes/graph_copier.h"

namespace thalweg {
namespace {

// The call that a SymbolicGradient names, when it is of the function that is differentiated.
const Node* CallOf(const Node& gradient, const Graph& graph) {
  const AttrValue* const attr = gradient.FindAttr("_forward");
  const std::string* const name = attr == nullptr ? nullptr : attr->GetIf<std::string>();
  const Node* const call = name == nullptr ? nullptr : graph.FindNode(*name);
  if (call == nullptr || call == &gradient) return nullptr;
  const Result<FunctionRef> wanted = gradient.Attr<FunctionRef>("f");
  if (!wanted.ok()) return nullptr;
  const Result<FunctionRef> called = CalledFunction(*call);
  const bool same = called.ok() && called->name == wanted->name;
  return same || wanted->name.starts_with(StrCat("__forward_", call->op_name(), "_")) ? call
                                                                                      : nullptr;
}

class GradientReplacer {
 public:
  GradientReplacer(StepGraph step, const ExpandOptions& options)
      : step_(std::move(step)), options_(options) {}

  Result<StepGraph> Run(const std::vector<LateGradient>& late) {
    FindReaders(late);
    for (const LateGradient& one : late) {
      RETURN_IF_ERROR(Replace(one).WithContext(one.node->Label()));
      if (step_.graph->num_nodes() > options_.max_nodes) {
        return ResourceExhausted("the functions of this step and their gradients expand to more ",
                                 "than ", options_.max_nodes, " nodes");
      }
    }
    for (Output& fetch : step_.fetches) fetch = Now(fetch);
    step_.origins.resize(static_cast<size_t>(step_.graph->num_nodes()));
    // Gradients of loops put newer nodes before older ones.
    GraphCopier copier(step_);
    for (const Node* node : NodesInOrder(*step_.graph)) {
      if (readers_.contains(node) || TakeAway(*node, copier)) continue;
      copier.Copy(*node);
    }
    return copier.Finish();
  }

 private:
  struct Readers {
    std::vector<std::pair<Node*, int>> inputs;
    std::vector<Node*> waiting;
  };

  // The copies of inputs have served; nothing else sees them.
  bool TakeAway(const Node& node, GraphCopier& copier) const {
    if (!copies_.contains(&node)) return false;
    const Output& source = node.input(0);
    if (source.node->control() == Node::Control::kSwitch) return false;
    const Output now = copier.Map(source);
    copier.Redirect({const_cast<Node*>(&node), 0}, now);
    copier.Replace(node, now.node);
    return true;
  }

  void FindReaders(const std::vector<LateGradient>& late) {
    for (const LateGradient& one : late) {
      readers_.try_emplace(one.node);
      for (const Output& x : one.of->xs) copies_.insert(x.node);
    }
    for (Node* node : step_.graph->Nodes()) {
      for (int i = 0; i < node->num_inputs(); ++i) {
        const auto found = readers_.find(node->input(i).node);
        if (found != readers_.end()) found->second.inputs.emplace_back(node, i);
      }
      for (const Node* before : node->control_inputs()) {
        const auto found = readers_.find(before);
        if (found != readers_.end()) found->second.waiting.push_back(node);
      }
    }
  }

  // What stands for a value, which may be a gradient's that has been made.
  Output Now(const Output& value) const {
    const auto found = made_.find(value.node);
    return found == made_.end() ? value : found->second[static_cast<size_t>(value.index)];
  }

  Result<std::vector<Output>> Make(const LateGradient& late) {
    const size_t num_xs = late.of->xs.size();
    if (static_cast<size_t>(late.node->num_inputs()) != num_xs + late.of->ys.size()) {
      return Internal("it has ", late.node->num_inputs(), " inputs, its call ", num_xs, " and ",
                      late.of->ys.size(), " outputs");
    }
    std::vector<Output> ys, xs, grad_ys;
    for (size_t i = 0; i < late.of->ys.size(); ++i) {
      const Output y = Now(late.of->ys[i]);
      const Output grad = Now(late.node->input(static_cast<int>(num_xs + i)));
      if (!HasFunctionGradient(y.dtype())) continue;
      if (y.dtype() == DType::kVariant && grad.dtype() != y.dtype()) continue;  // it has none
      ys.push_back(y);
      grad_ys.push_back(grad);
    }
    std::vector<size_t> place;
    for (size_t i = 0; i < num_xs; ++i) {
      const DType type = late.of->xs[i].dtype();
      if (!HasFunctionGradient(type) && type != DType::kResource) continue;
      xs.push_back(late.of->xs[i]);
      place.push_back(i);
    }
    std::vector<Output> found(xs.size());
    if (!xs.empty() && !ys.empty()) {
      ASSIGN_OR_RETURN(
          found, options_.gradients(step_.graph.get(), ys, xs, grad_ys, late.node, step_.work));
    }
    std::vector<Output> outputs(num_xs);
    for (size_t i = 0; i < xs.size(); ++i) outputs[place[i]] = found[i];
    for (size_t i = 0; i < num_xs; ++i) {
      if (outputs[i].node != nullptr) continue;
      const Output like = Now(late.node->input(static_cast<int>(i)));
      ASSIGN_OR_RETURN(outputs[i], ZeroGradient(like, step_.graph.get()));
    }
    return outputs;
  }

  Status Replace(const LateGradient& late) {
    const int first = step_.graph->num_nodes();
    ASSIGN_OR_RETURN(std::vector<Output> outputs, Make(late));
    for (int id = first; id < step_.graph->num_nodes(); ++id) {
      NodeMaker::ReplaceDevice(step_.graph->NodeById(id), std::string(late.node->device()));
    }
    std::vector<Node*> ends;
    for (const Output& output : outputs) {
      if (std::find(ends.begin(), ends.end(), output.node) == ends.end()) {
        ends.push_back(output.node);
      }
    }
    const Readers& readers = readers_[late.node];
    for (const auto& [reader, i] : readers.inputs) {
      const Output now = outputs[static_cast<size_t>(reader->input(i).index)];
      RETURN_IF_ERROR(NodeMaker::ReplaceInput(reader, i, now));
    }
    for (Node* waiting : readers.waiting) {
      std::vector<Node*> before = ends;
      for (Node* node : waiting->control_inputs()) {
        const bool known = std::find(before.begin(), before.end(), node) != before.end();
        if (node != late.node && !known) before.push_back(node);
      }
      NodeMaker::ReplaceControlInputs(waiting, std::move(before));
    }
    if (late.own != nullptr) late.own->ys = outputs;
    made_[late.node] = std::move(outputs);
    return OkStatus();
  }

  StepGraph step_;
  const ExpandOptions& options_;
  std::unordered_map<const Node*, Readers> readers_;
  std::unordered_set<const Node*> copies_;
  std::unordered_map<const Node*, std::vector<Output>> made_;
};

}  // namespace

// Whether somebody said how to differentiate a function that the call runs, or one calls itself.
bool FunctionExpander::HasCustomGradient(const Node& call) {
  std::vector<FunctionRef> functions;
  if (library_.FindOp(call.op_name()) == &call.op()) functions.push_back({call.op_name(), {}});
  for (const auto& [name, value] : call.attrs()) {
    if (const FunctionRef* one = value.GetIf<FunctionRef>(); one != nullptr) {
      functions.push_back({one->name, one->attrs});
    } else if (const auto* many = value.GetIf<std::vector<FunctionRef>>(); many != nullptr) {
      functions.insert(functions.end(), many->begin(), many->end());
    }
  }
  for (FunctionRef& function : functions) {
    // True as long as the body is looked at: what calls itself is called by the step, and the
    // gradient of that is a call too, which only a body of its own can expand.
    const auto [known, is_new] = custom_.try_emplace(function.name, true);
    if (!is_new) {
      if (known->second) return true;
      continue;
    }
    bool custom = !library_.FindGradient(function.name).empty();
    if (function.name == call.op_name()) function.attrs = call.attrs();
    const auto body = Body(function);
    for (size_t i = 0; !custom && body.ok() && i < (*body)->order.size(); ++i) {
      const Node& node = *(*body)->order[i];
      custom = IsCall(node) && HasCustomGradient(node);
    }
    custom_[function.name] = custom;
    if (custom) return true;
  }
  return false;
}

ForwardCalls FunctionExpander::FindForwardCalls(const std::vector<const Node*>& nodes,
                                                const Graph& graph) {
  ForwardCalls forwards;
  if (keep_custom_gradients_ || options_.gradients == nullptr) return forwards;
  std::vector<bool> here(static_cast<size_t>(graph.num_nodes()));
  for (const Node* node : nodes) here[static_cast<size_t>(node->id())] = true;
  for (const Node* node : nodes) {
    if (node->op_name() != "SymbolicGradient") continue;
    const Node* const call = CallOf(*node, graph);
    if (call == nullptr || !here[static_cast<size_t>(call->id())] || !IsCall(*call)) continue;
    std::shared_ptr<ForwardCall>& forward = forwards[call->id()];
    if (forward != nullptr) continue;
    forward = std::make_shared<ForwardCall>();
    forward->is_gradient = call->op_name() == "SymbolicGradient";
    forward->custom = HasCustomGradient(*call);
  }
  return forwards;
}

void FunctionExpander::Connect(const ForwardCalls& forwards, Call* call) {
  if (forwards.empty()) return;
  if (const auto own = forwards.find(call->node.id()); own != forwards.end()) {
    call->own = own->second;
  }
  if (call->node.op_name() != "SymbolicGradient") return;
  const Node* const before = CallOf(call->node, call->node.graph());
  if (before == nullptr) return;
  if (const auto of = forwards.find(before->id()); of != forwards.end()) call->of = of->second;
}

// A gradient of a call of the same inputs; or one in the loop of the gradient of the call that this
// one is in, where they are remembered, and which may come before the call: from one iteration to
// the next.
bool FunctionExpander::IsLate(const Call& call) {
  if (call.of == nullptr || call.of->custom) return false;
  const std::vector<Output>& inputs = call.own == nullptr ? call.inputs : call.own->inputs;
  const size_t num_xs = call.of->inputs.size();
  const bool same = num_xs > 0 && inputs.size() > num_xs &&
                    std::equal(call.of->inputs.begin(), call.of->inputs.end(), inputs.begin());
  return same || (call.in_loop && !call.of->is_gradient);
}

Result<Expansion> FunctionExpander::LeaveGradient(const Call& call, const CallScope& scope) {
  Node* const node = to_.CopyNode(call.node, call.inputs, {});
  NodeMaker::ReplaceDevice(node, scope.device);
  if (call.own != nullptr) {  // its inputs are those of the call that it differentiates
    std::copy(call.of->xs.begin(), call.of->xs.end(), call.own->xs.begin());
  }
  late_.push_back({node, call.of, call.own, ++events_});
  Expansion made;
  for (int i = 0; i < node->num_outputs(); ++i) made.outputs.push_back({node, i});
  return made;
}

// In an order in which those in the body of a call come before the call's own.
Result<StepGraph> MakeLateGradients(StepGraph step, const std::vector<LateGradient>& late,
                                    const ExpandOptions& options) {
  std::vector<LateGradient> ordered = late;
  const auto when = [](const LateGradient& one) { return std::max(one.left, one.of->done); };
  std::stable_sort(ordered.begin(), ordered.end(),
                   [&](const LateGradient& a, const LateGradient& b) { return when(a) < when(b); });
  return GradientReplacer(std::move(step), options).Run(ordered);
}

}  // namespace thalweg
