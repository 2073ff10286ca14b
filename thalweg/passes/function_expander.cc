// SPDX-License-Identifier: Apache-2.0
#include "thalweg/passes/function_expander.h"

#include <algorithm>

#include "thalweg/graph/function_calls.h"
#include "thalweg/graph/node_maker.h"
#include "thalweg/passes/loop_shapes.h"

namespace thalweg {
namespace {

constexpr std::string_view kCalls[] = {"BatchFunction",
                                       "Case",
                                       "For",
                                       "If",
                                       "MapDefun",
                                       "PartitionedCall",
                                       "RemoteCall",
                                       "StatefulPartitionedCall",
                                       "While",
                                       "StatelessCase",
                                       "StatelessIf",
                                       "StatelessWhile",
                                       "SymbolicGradient",
                                       "_If",
                                       "_While"};

// Whether the scope is a function's, not that of a call in it.
bool IsFunction(const CallScope& scope) {
  return scope.outer != nullptr && scope.outer->depth != scope.depth;
}

Status CheckSignature(const FunctionBody& body, const std::vector<Output>& args) {
  if (body.args.size() != args.size()) {
    return InvalidArgument("function '", body.name, "' takes ", body.args.size(),
                           " inputs, the call gives ", args.size());
  }
  for (size_t i = 0; i < args.size(); ++i) {
    const DType wanted = body.args[i]->output_type(0);
    if (args[i].dtype() != wanted) {
      return InvalidArgument("function '", body.name, "': argument ", i, " ('",
                             body.args[i]->name(), "') must be ", wanted, ", but '",
                             args[i].ToString(), "' is ", args[i].dtype());
    }
  }
  return OkStatus();
}

void AddOnce(std::vector<Node*>& nodes, Node* node) {
  if (node != nullptr && std::find(nodes.begin(), nodes.end(), node) == nodes.end()) {
    nodes.push_back(node);
  }
}

}  // namespace

std::vector<FunctionRef> FunctionsOf(const FunctionLibrary& library, const Node& node) {
  if (library.FindOp(node.op_name()) == &node.op()) return {{node.op_name(), node.attrs()}};
  std::vector<FunctionRef> functions;
  for (const AttrDef& attr : node.op().def.attrs) {
    const AttrValue* const value = node.FindAttr(attr.name);
    if (value == nullptr) continue;
    if (const FunctionRef* one = value->GetIf<FunctionRef>(); one != nullptr) {
      functions.push_back(*one);
    } else if (const auto* list = value->GetIf<std::vector<FunctionRef>>(); list != nullptr) {
      functions.insert(functions.end(), list->begin(), list->end());
    }
  }
  return functions;
}

bool FunctionExpander::IsCall(const Node& node) const {
  const std::string& op = node.op_name();
  const bool form = std::find(std::begin(kCalls), std::end(kCalls), op) != std::end(kCalls);
  if (!form && library_.FindOp(op) != &node.op()) return false;
  if (!keep_custom_gradients_ || op == "SymbolicGradient") return true;
  const Result<FunctionRef> function = CalledFunction(node);
  return !function.ok() || library_.FindGradient(function->name).empty();
}

Result<Node*> FunctionExpander::Make(const CallScope& scope, std::string_view op,
                                     std::string_view name, std::vector<Output> inputs,
                                     AttrMap attrs, std::vector<Node*> controls) {
  NodeSpec spec;
  spec.name = StrCat(scope.prefix, name);
  spec.op = op;
  spec.inputs = std::move(inputs);
  spec.control_inputs = std::move(controls);
  spec.attrs = std::move(attrs);
  spec.device = scope.device;
  spec.site = scope.site;
  spec.make_unique = true;
  return to_.AddNode(std::move(spec));
}

Result<Node*> FunctionExpander::Liveness(const Output& output, const CallScope& scope) {
  if (output.node->control() != Node::Control::kSwitch) return output.node;
  return Make(scope, "Identity", "live", {output});
}

CallScope FunctionExpander::Inner(const CallScope& scope, std::string_view function,
                                  std::string_view name) const {
  CallScope inner = scope;
  inner.outer = &scope;
  inner.function = function;
  inner.call = {};
  inner.depth = scope.depth + 1;
  if (!name.empty()) inner.prefix = StrCat(scope.prefix, name, "/");
  return inner;
}

Status FunctionExpander::CheckDepth(const CallScope& scope) const {
  if (scope.depth <= kMaxCallDepth) return OkStatus();
  return ResourceExhausted("function '", scope.function, "' is called inside more than ",
                           kMaxCallDepth, " other calls");
}

bool FunctionExpander::IsRecursive(const Node& node, const CallScope& scope) const {
  const std::vector<FunctionRef> called = FunctionsOf(library_, node);
  for (const CallScope* s = &scope; s != nullptr; s = s->outer) {
    if (!IsFunction(*s)) continue;
    for (const FunctionRef& function : called) {
      if (function.name == s->function) return true;
    }
  }
  return false;
}

// Only the values of a step say how often a function calls itself: what stands in its own body is
// called when the step comes to it.
Result<Expansion> FunctionExpander::LeaveCall(const Call& call, const CallScope& scope) {
  const Node& node = call.node;
  std::vector<DType> args, results;
  for (const Output& input : call.inputs) args.push_back(input.dtype());
  for (int i = 0; i < node.num_outputs(); ++i) results.push_back(node.output_type(i));
  std::vector<Node*> controls;
  if (call.inputs.empty()) AddOnce(controls, scope.gate);
  AddOnce(controls, scope.before);
  AttrMap attrs = {{"Tin", std::move(args)},
                   {"Tout", std::move(results)},
                   {"call", FunctionRef{node.op_name(), node.attrs()}}};
  TellPlace(node.name(), *scope.outer, &attrs);
  ASSIGN_OR_RETURN(Node * made, Make(scope, "_RuntimeCall", "call", call.inputs, std::move(attrs),
                                     std::move(controls)));
  Expansion left;
  for (int i = 0; i < node.num_outputs(); ++i) {
    RETURN_IF_ERROR(NodeMaker::RefineShape({made, i}, node.output_shape(i)));
    left.outputs.push_back({made, i});
  }
  if (node.op().def.is_stateful) left.after = made;
  return left;
}

Result<CallScope> FunctionExpander::Enter(const Call& call, const CallScope& outer) {
  CallScope scope = outer;
  scope.outer = &outer;
  scope.call = call.node.name();
  scope.prefix = StrCat(outer.prefix, call.node.name(), "/");
  if (!call.node.device().empty()) scope.device = call.node.device();
  if (call.node.site() != 0) {
    scope.site = to_.InternSite(call.node.graph().Site(call.node.site()));
  }
  if (call.controls.empty() && !call.may_be_dead) return scope;
  std::vector<Node*> controls = call.controls;
  if (call.may_be_dead) {
    for (const Output& input : call.inputs) {
      ASSIGN_OR_RETURN(Node * live, Liveness(input, outer));
      AddOnce(controls, live);
    }
  }
  if (!call.in_loop) {  // these are of the frame around it
    AddOnce(controls, outer.gate);
    AddOnce(controls, outer.before);
  }
  ASSIGN_OR_RETURN(Node * entry, Make(scope, "NoOp", "before", {}, {}, std::move(controls)));
  if (outer.gate != nullptr || call.may_be_dead) scope.gate = entry;
  const bool waits = !call.controls.empty() || (outer.before != nullptr && !call.in_loop);
  scope.before = waits ? entry : nullptr;
  return scope;
}

// What reads the outputs comes after what the call waits for, and in a loop after its effects:
// nothing else of an iteration waits for those.
Status FunctionExpander::HoldBack(const Call& call, const CallScope& scope, Expansion* made) {
  std::vector<Node*> controls;
  if (!call.controls.empty()) controls.push_back(scope.before);
  if (call.in_loop) AddOnce(controls, made->after);
  if (controls.empty()) return OkStatus();
  for (Output& output : made->outputs) {
    ASSIGN_OR_RETURN(Node * held, Make(scope, "Identity", "held", {output}, {}, controls));
    output = {held, 0};
  }
  return OkStatus();
}

Result<Expansion> FunctionExpander::Expand(const Call& given, const CallScope& outer) {
  Call call = given;
  ASSIGN_OR_RETURN(const CallScope scope, Enter(call, outer));
  for (Output& input : call.inputs) {
    if (!input.node->output_is_ref(input.index)) continue;
    ASSIGN_OR_RETURN(Node * value, Make(scope, "Identity", "value", {input}));
    input = {value, 0};
  }
  if (call.own != nullptr) {
    call.own->inputs = call.inputs;
    for (Output& input : call.inputs) {
      ASSIGN_OR_RETURN(Node * x, Make(scope, "Identity", "x", {input}));
      call.own->xs.push_back({x, 0});
      input = {x, 0};
    }
  }
  ASSIGN_OR_RETURN(Expansion made,
                   IsRecursive(call.node, scope) ? LeaveCall(call, scope) : Dispatch(call, scope));
  if (call.own != nullptr) {
    call.own->ys = made.outputs;
    call.own->done = ++events_;
  }
  made.entry = scope.before == nullptr ? scope.gate : scope.before;
  if (made.outputs.size() != static_cast<size_t>(call.node.num_outputs())) {
    return InvalidArgument(call.node.Label(), " has ", call.node.num_outputs(),
                           " outputs, its function returns ", made.outputs.size(), " values");
  }
  for (size_t i = 0; i < made.outputs.size(); ++i) {
    const DType wanted = call.node.output_type(static_cast<int>(i));
    if (made.outputs[i].dtype() != wanted) {
      return InvalidArgument(call.node.Label(), ": output ", i, " must be ", wanted,
                             ", its function returns ", made.outputs[i].dtype());
    }
  }
  RETURN_IF_ERROR(HoldBack(call, scope, &made));
  return made;
}

Result<Expansion> FunctionExpander::Dispatch(const Call& call, const CallScope& scope) {
  const std::string& op = call.node.op_name();
  if (library_.FindOp(op) != &call.node.op()) {
    if (op.ends_with("If")) return LowerIf(call, scope);
    if (op.ends_with("Case")) return LowerCase(call, scope);
    if (op.ends_with("While")) return LowerWhile(call, scope);
    if (op == "For") return LowerFor(call, scope);
    if (op == "MapDefun") return LowerMap(call, scope);
    if (op == "BatchFunction") return LowerBatch(call, scope);
    if (op == "SymbolicGradient") {
      return IsLate(call) ? LeaveGradient(call, scope) : LowerGradient(call, scope);
    }
  }
  ASSIGN_OR_RETURN(const FunctionRef function, CalledFunction(call.node));
  ASSIGN_OR_RETURN(const std::shared_ptr<const FunctionBody> body, Body(function));
  std::vector<Output> args = call.inputs;
  if (op == "RemoteCall") args.erase(args.begin());
  return Inline(*body, args, Inner(scope, function.name, ""));
}

Result<Expansion> FunctionExpander::Inline(const FunctionBody& body,
                                           const std::vector<Output>& args, const CallScope& scope,
                                           const std::vector<bool>& carries) {
  RETURN_IF_ERROR(CheckDepth(scope));
  RETURN_IF_ERROR(CheckSignature(body, args));
  const auto size = static_cast<size_t>(body.graph->num_nodes());
  Copies copies{std::vector<Node*>(size),
                std::vector<std::vector<Output>>(size),
                std::vector<bool>(size),
                body.has_switches,
                ControlContexts(body.graph->num_nodes()),
                FindForwardCalls({body.order.begin(), body.order.end()}, *body.graph)};
  for (size_t i = 0; i < args.size(); ++i) {
    copies.values[body.args[i]->id()] = {args[i]};
    copies.blind[body.args[i]->id()] = !carries.empty() && !carries[i];
  }
  const std::vector<PartialShape> loop_shapes = LoopShapes(library_, body, args);
  for (const Node* node : body.order) {
    copies.contexts.Add(*node);
    if (options_.work != nullptr) RETURN_IF_ERROR(options_.work->Visit(1 + node->num_inputs()));
    RETURN_IF_ERROR(IsCall(*node) ? InlineCall(*node, scope, copies)
                                  : InlineNode(*node, scope, copies));
    if (!loop_shapes.empty() && node->control() == Node::Control::kMerge) {
      const auto id = static_cast<size_t>(node->id());
      RETURN_IF_ERROR(NodeMaker::RefineShape({copies.nodes[id], 0}, loop_shapes[id]));
    }
    if (to_.num_nodes() - begin_ > options_.max_nodes) {
      return ResourceExhausted("the functions that are called expand to more than ",
                               options_.max_nodes, " nodes");
    }
  }
  RETURN_IF_ERROR(CloseLoops(body, copies));
  Expansion made;
  for (const Output& ret : body.rets) {
    Output value = copies.Value(ret);
    if (copies.blind[ret.node->id()]) {  // must be dead where the call is
      ASSIGN_OR_RETURN(Node * held, Make(scope, "Identity", "value", {value}, {}, {scope.gate}));
      value = {held, 0};
    }
    made.outputs.push_back(value);
  }
  ASSIGN_OR_RETURN(made.after, After(body, scope, copies));
  return made;
}

// Null where nothing has to be waited for.
Result<Node*> FunctionExpander::ControlOf(const Node& before, const CallScope& scope,
                                          Copies& copies) {
  Node*& known = copies.nodes[before.id()];
  if (known != nullptr) return known;
  if (copies.blind[before.id()]) return scope.gate;
  std::vector<Node*> live;
  for (const Output& value : copies.values[before.id()]) {
    ASSIGN_OR_RETURN(Node * node, Liveness(value, scope));
    AddOnce(live, node);
  }
  if (live.empty()) return scope.gate;
  if (live.size() == 1) return known = live[0];
  ASSIGN_OR_RETURN(known, Make(scope, "NoOp", StrCat(before.name(), "/done"), {}, {}, live));
  return known;
}

Status FunctionExpander::Sources(const Node& node, const CallScope& scope, Copies& copies,
                                 std::vector<Output>* inputs, std::vector<Node*>* controls) {
  bool carried = false;
  for (const Output& input : node.inputs()) {
    inputs->push_back(copies.Value(input));
    carried |= inputs->back().node != nullptr && !copies.blind[input.node->id()];
  }
  for (const Node* before : node.control_inputs()) {
    ASSIGN_OR_RETURN(Node * control, ControlOf(*before, scope, copies));
    AddOnce(*controls, control);
  }
  if (!carried && controls->empty()) AddOnce(*controls, scope.gate);
  // Loops of the body wait as they are entered.
  const int frames = copies.contexts.frames(node);
  const bool waits = node.control() == Node::Control::kEnter
                         ? frames == 1
                         : node.op().def.is_stateful && frames == 0;
  if (waits) AddOnce(*controls, scope.before);
  return OkStatus();
}

Status FunctionExpander::InlineNode(const Node& node, const CallScope& scope, Copies& copies) {
  std::vector<Output> inputs;
  std::vector<Node*> controls;
  RETURN_IF_ERROR(Sources(node, scope, copies, &inputs, &controls));
  ASSIGN_OR_RETURN(copies.nodes[node.id()],
                   Place(node, std::move(inputs), std::move(controls), scope));
  return OkStatus();
}

Status FunctionExpander::InlineCall(const Node& node, const CallScope& scope, Copies& copies) {
  std::vector<Output> inputs;
  std::vector<Node*> controls;
  for (const Output& input : node.inputs()) {
    Output value = copies.Value(input);
    if (copies.blind[input.node->id()]) {
      ASSIGN_OR_RETURN(Node * held, Make(scope, "Identity", "value", {value}, {}, {scope.gate}));
      value = {held, 0};
    }
    inputs.push_back(value);
  }
  for (const Node* before : node.control_inputs()) {
    ASSIGN_OR_RETURN(Node * control, ControlOf(*before, scope, copies));
    if (control != scope.gate) AddOnce(controls, control);
  }
  Call call{.node = node,
            .inputs = std::move(inputs),
            .controls = std::move(controls),
            .may_be_dead = copies.contexts.conditional(node),
            .in_loop = copies.contexts.frames(node) > 0};
  Connect(copies.forwards, &call);
  ASSIGN_OR_RETURN(Expansion made, Expand(call, scope));
  copies.nodes[node.id()] = made.after == nullptr && made.outputs.empty() ? made.entry : made.after;
  copies.values[node.id()] = std::move(made.outputs);
  return OkStatus();
}

void FunctionExpander::TellPlace(const std::string& name, const CallScope& scope,
                                 AttrMap* attrs) const {
  if (!options_.tell_places) return;
  std::string_view function;
  std::vector<std::string> calls;
  for (const CallScope* s = &scope; s != nullptr; s = s->outer) {
    if (function.empty() && IsFunction(*s)) function = s->function;
    if (!s->call.empty()) calls.emplace_back(s->call);
  }
  std::reverse(calls.begin(), calls.end());
  attrs->Set("_function", std::string(function));
  attrs->Set("_function_node", name);
  attrs->Set("_function_calls", std::move(calls));
}

AttrMap FunctionExpander::RenamedAttrs(const Node& node, const CallScope& scope) const {
  AttrMap attrs = node.attrs();
  if (node.control() == Node::Control::kEnter) {
    const Result<std::string> frame = node.Attr<std::string>("frame_name");
    if (frame.ok()) attrs.Set("frame_name", StrCat(scope.prefix, *frame));
  }
  const AttrValue* colocated = attrs.Find("_class");
  if (colocated == nullptr) return attrs;
  Result<std::vector<std::string>> groups = colocated->Get<std::vector<std::string>>();
  if (!groups.ok()) return attrs;
  constexpr std::string_view kLocation = "loc:@";
  std::erase_if(*groups, [&](const std::string& group) {
    return !group.starts_with(kLocation) ||
           to_.FindNode(StrCat(scope.prefix, group.substr(kLocation.size()))) == nullptr;
  });
  for (std::string& group : *groups) group.insert(kLocation.size(), scope.prefix);
  attrs.Erase("_class");
  if (!groups->empty()) attrs.Set("_class", *std::move(groups));
  return attrs;
}

Result<Node*> FunctionExpander::Place(const Node& node, std::vector<Output> inputs,
                                      std::vector<Node*> controls, const CallScope& scope) {
  NodeSpec spec;
  spec.name = StrCat(scope.prefix, node.name());
  spec.op = node.op_name();
  spec.inputs = inputs;
  spec.control_inputs = controls;
  spec.attrs = RenamedAttrs(node, scope);
  TellPlace(node.name(), scope, &spec.attrs);
  spec.device = node.device().empty() ? scope.device : node.device();
  spec.site = node.site() == 0 ? scope.site : to_.InternSite(node.graph().Site(node.site()));
  spec.make_unique = true;
  Result<Node*> made = to_.AddNode(std::move(spec));
  // In a branch that may never run the shapes need not fit.
  if (made.ok() || scope.gate == nullptr) return made;
  return to_.CopyNode(node, std::move(inputs), std::move(controls));
}

Status FunctionExpander::CloseLoops(const FunctionBody& body, const Copies& copies) {
  for (const Node* node : body.order) {
    if (node->control() != Node::Control::kMerge) continue;
    for (int i = 0; i < node->num_inputs(); ++i) {
      const Output source = node->input(i);
      Node* const merge = copies.nodes[node->id()];
      if (merge->input(i).node != nullptr) continue;
      RETURN_IF_ERROR(to_.SetBackEdge(merge, i, copies.Value(source)));
    }
  }
  return OkStatus();
}

Result<Node*> FunctionExpander::After(const FunctionBody& body, const CallScope& scope,
                                      Copies& copies) {
  std::vector<Node*> effects;
  for (const Node* effect : body.effects) {
    ASSIGN_OR_RETURN(Node * done, ControlOf(*effect, scope, copies));
    AddOnce(effects, done);
  }
  if (effects.empty()) return nullptr;
  if (!copies.may_be_dead) {
    if (effects.size() == 1) return effects[0];
    return Make(scope, "NoOp", "after", {}, {}, std::move(effects));
  }
  // An effect in a branch that was not taken is dead, the call is not.
  ASSIGN_OR_RETURN(Node * all, Make(scope, "ControlTrigger", "after", {}, {}, std::move(effects)));
  if (scope.gate == nullptr) return all;
  return Make(scope, "NoOp", "after", {}, {}, {all, scope.gate});
}

}  // namespace thalweg
