// SPDX-License-Identifier: Apache-2.0
// While and For as a loop frame: Enter, Merge, LoopCond, Switch, NextIteration, Exit.
#include "thalweg/graph/function_calls.h"
#include "thalweg/graph/node_maker.h"
#include "thalweg/passes/function_expander.h"

namespace thalweg {

// A loop in the making. A For counts in variable 0, of which its function knows nothing.
struct FunctionExpander::Loop {
  std::shared_ptr<const FunctionBody> condition;  // null: a For
  FunctionRef function;
  std::shared_ptr<const FunctionBody> body;
  std::vector<Output> inputs;
  int64_t parallel_iterations = 10;
  std::vector<Output> bounds;  // of a For: number of rounds, start, delta

  std::string frame;
  std::vector<bool> carries;   // by variable: false where the body returns what it got
  std::vector<Node*> merges;   // of what is carried
  std::vector<Output> values;  // as the condition reads them
  std::vector<Output> inside;  // as the body reads them
  Node* condition_node = nullptr;
  bool has_effects = false;
  Expansion result;

  bool is_for() const { return condition == nullptr; }
  // What the body returns for variable i; null for a For's counter.
  const Output* Returned(size_t i) const {
    if (!is_for()) return &body->rets[i];
    return i == 0 ? nullptr : &body->rets[i - 1];
  }
};

Result<Expansion> FunctionExpander::LowerWhile(const Call& call, const CallScope& scope) {
  Loop loop;
  ASSIGN_OR_RETURN(const FunctionRef condition, call.node.Attr<FunctionRef>("cond"));
  ASSIGN_OR_RETURN(loop.function, call.node.Attr<FunctionRef>("body"));
  ASSIGN_OR_RETURN(loop.condition, Body(condition));
  ASSIGN_OR_RETURN(loop.body, Body(loop.function));
  loop.inputs = call.inputs;
  if (const AttrValue* parallel = call.node.FindAttr("parallel_iterations"); parallel != nullptr) {
    ASSIGN_OR_RETURN(loop.parallel_iterations, parallel->Get<int64_t>());
  }
  if (loop.condition->rets.size() != 1) {
    return InvalidArgument("function '", condition.name, "' must return one value, the condition ",
                           "of a loop, but returns ", loop.condition->rets.size());
  }
  if (loop.body->rets.size() != loop.inputs.size()) {
    return InvalidArgument("function '", loop.function.name, "' must return ", loop.inputs.size(),
                           " values, the variables of the loop, but returns ",
                           loop.body->rets.size());
  }
  return BuildLoop(loop, scope);
}

// The number of rounds is known before the first.
Result<Expansion> FunctionExpander::LowerFor(const Call& call, const CallScope& scope) {
  Loop loop;
  ASSIGN_OR_RETURN(loop.function, call.node.Attr<FunctionRef>("body"));
  ASSIGN_OR_RETURN(loop.body, Body(loop.function));
  loop.inputs.assign(call.inputs.begin() + 2, call.inputs.end());
  if (loop.body->rets.size() + 1 != loop.inputs.size()) {
    return InvalidArgument("function '", loop.function.name, "' must return ",
                           loop.inputs.size() - 1, " values, the variables of the loop, but ",
                           "returns ", loop.body->rets.size());
  }
  std::vector<Output> wide;
  for (size_t i = 0; i < 3; ++i) {
    ASSIGN_OR_RETURN(Node * cast,
                     Make(scope, "Cast", "bound", {call.inputs[i]}, {{"DstT", DType::kInt64}}));
    wide.push_back({cast, 0});
  }
  ASSIGN_OR_RETURN(const Output rounds, CountRounds(wide, scope));
  loop.bounds = {rounds, wide[0], wide[2]};
  ASSIGN_OR_RETURN(Node * zero, Make(scope, "ZerosLike", "zero", {rounds}));
  loop.inputs[0] = {zero, 0};
  return BuildLoop(loop, scope);
}

// (limit - start + delta - sign(delta)) / delta, rounded down, and an assertion that it is sound.
Result<Output> FunctionExpander::CountRounds(const std::vector<Output>& bounds,
                                             const CallScope& scope) {
  const auto op = [&](const char* name, std::vector<Output> inputs) -> Result<Output> {
    ASSIGN_OR_RETURN(Node * made, Make(scope, name, name, std::move(inputs)));
    return Output{made, 0};
  };
  ASSIGN_OR_RETURN(const Output way, op("Sub", {bounds[1], bounds[0]}));
  ASSIGN_OR_RETURN(const Output way_sign, op("Sign", {way}));
  ASSIGN_OR_RETURN(const Output sign, op("Sign", {bounds[2]}));
  ASSIGN_OR_RETURN(const Output zero, op("ZerosLike", {sign}));
  ASSIGN_OR_RETURN(const Output one, op("OnesLike", {sign}));
  ASSIGN_OR_RETURN(const Output stays, op("Equal", {way, zero}));
  ASSIGN_OR_RETURN(const Output forward, op("Equal", {way_sign, sign}));
  ASSIGN_OR_RETURN(const Output sound, op("LogicalOr", {stays, forward}));
  ASSIGN_OR_RETURN(Node * assertion, Make(scope, "Assert", "Invalid_start_limit_delta",
                                          {sound, bounds[0], bounds[1], bounds[2]}));
  ASSIGN_OR_RETURN(const Output ahead, op("Add", {way, bounds[2]}));
  ASSIGN_OR_RETURN(const Output full, op("Sub", {ahead, sign}));
  ASSIGN_OR_RETURN(const Output still, op("Equal", {bounds[2], zero}));
  ASSIGN_OR_RETURN(const Output divisor, op("Select", {still, one, bounds[2]}));
  ASSIGN_OR_RETURN(const Output rounds, op("FloorDiv", {full, divisor}));
  ASSIGN_OR_RETURN(Node * checked, Make(scope, "Identity", "rounds", {rounds}, {}, {assertion}));
  return Output{checked, 0};
}

Result<Expansion> FunctionExpander::BuildLoop(Loop& loop, const CallScope& scope) {
  loop.frame = StrCat(scope.prefix, "while_", to_.num_nodes());
  bool any = false;
  for (size_t i = 0; i < loop.inputs.size(); ++i) {
    const Output* returned = loop.Returned(i);
    const std::vector<Node*>& args = loop.body->args;
    loop.carries.push_back(returned == nullptr || i >= args.size() ||
                           !(*returned == Output{args[i], 0}));
    any |= loop.carries.back();
  }
  if (!any && !loop.inputs.empty()) {
    loop.carries[0] = true;  // something must go round
  } else if (!any) {
    return Unimplemented("a loop without variables: function '", loop.function.name, "'");
  }
  RETURN_IF_ERROR(EnterLoop(loop, scope));
  RETURN_IF_ERROR(LoopCondition(loop, scope));
  RETURN_IF_ERROR(LoopBody(loop, scope));
  if (loop.is_for()) loop.result.outputs.erase(loop.result.outputs.begin());
  return loop.result;
}

Status FunctionExpander::EnterLoop(Loop& loop, const CallScope& scope) {
  // What the loop waits for stays outside: no variable enters before it.
  std::vector<Node*> before;
  if (scope.before != nullptr) before.push_back(scope.before);
  const int64_t parallel = options_.serial_loops ? 1 : loop.parallel_iterations;
  const auto enter = [&](const Output& value, bool constant) -> Result<Output> {
    ASSIGN_OR_RETURN(Node * made, Make(scope, "Enter", "Enter", {value},
                                       {{"frame_name", loop.frame},
                                        {"is_constant", constant},
                                        {"parallel_iterations", parallel}},
                                       constant ? std::vector<Node*>() : before));
    return Output{made, 0};
  };
  const std::vector<PartialShape> shapes = StableShapes(loop);
  for (size_t i = 0; i < loop.inputs.size(); ++i) {
    ASSIGN_OR_RETURN(Output value, enter(loop.inputs[i], !loop.carries[i]));
    loop.merges.push_back(nullptr);
    if (loop.carries[i]) {
      ASSIGN_OR_RETURN(loop.merges[i], Make(scope, "Merge", "Merge", {value, Output()}));
      value = {loop.merges[i], 0};
      if (!shapes.empty()) RETURN_IF_ERROR(NodeMaker::RefineShape(value, shapes[i]));
    }
    loop.values.push_back(value);
  }
  for (Output& bound : loop.bounds) {
    ASSIGN_OR_RETURN(bound, enter(bound, true));
  }
  return OkStatus();
}

Status FunctionExpander::LoopCondition(Loop& loop, const CallScope& scope) {
  const std::string_view function =
      loop.is_for() ? std::string_view() : std::string_view(loop.condition->name);
  CallScope inner = Inner(scope, function, "cond");
  inner.before = nullptr;
  for (Node* merge : loop.merges) {
    if (inner.gate == scope.gate && merge != nullptr) inner.gate = merge;
  }
  Expansion made;
  if (loop.is_for()) {
    ASSIGN_OR_RETURN(Node * less, Make(inner, "Less", "Less", {loop.values[0], loop.bounds[0]}));
    made.outputs.push_back({less, 0});
  } else {
    ASSIGN_OR_RETURN(made, Inline(*loop.condition, loop.values, inner, loop.carries));
  }
  Output condition = made.outputs[0];
  if (condition.dtype() != DType::kBool) {
    ASSIGN_OR_RETURN(Node * truth, Make(inner, "ToBool", "ToBool", {condition}));
    condition = {truth, 0};
  }
  std::vector<Node*> controls;
  if (made.after != nullptr) controls.push_back(made.after);
  loop.has_effects = made.after != nullptr;
  ASSIGN_OR_RETURN(loop.condition_node,
                   Make(scope, "LoopCond", "LoopCond", {condition}, {}, std::move(controls)));
  return OkStatus();
}

Status FunctionExpander::LoopBody(Loop& loop, const CallScope& scope) {
  CallScope inner = Inner(scope, loop.body->name, "body");
  inner.gate = inner.before = nullptr;
  for (size_t i = 0; i < loop.inputs.size(); ++i) {
    Output inside = loop.values[i];
    Output outside = loop.inputs[i];
    if (loop.carries[i]) {
      ASSIGN_OR_RETURN(Node * parts,
                       Make(scope, "Switch", "Switch", {inside, {loop.condition_node, 0}}));
      inside = {parts, 1};
      ASSIGN_OR_RETURN(Node * exit, Make(scope, "Exit", "Exit", {{parts, 0}}));
      outside = {exit, 0};
      if (inner.gate == nullptr) {
        ASSIGN_OR_RETURN(inner.gate, Make(inner, "Identity", "pivot", {inside}));
        loop.result.after = exit;
      }
    }
    loop.inside.push_back(inside);
    loop.result.outputs.push_back(outside);
  }
  std::vector<Output> args = loop.inside;
  std::vector<bool> carries = loop.carries;
  if (loop.is_for()) {
    ASSIGN_OR_RETURN(Node * steps, Make(inner, "Mul", "steps", {args[0], loop.bounds[2]}));
    ASSIGN_OR_RETURN(Node * wide, Make(inner, "Add", "wide", {loop.bounds[1], {steps, 0}}));
    ASSIGN_OR_RETURN(Node * index,
                     Make(inner, "Cast", "index", {{wide, 0}}, {{"DstT", DType::kInt32}}));
    args[0] = {index, 0};
  }
  ASSIGN_OR_RETURN(Expansion made, Inline(*loop.body, args, inner, carries));
  if (loop.is_for()) {
    ASSIGN_OR_RETURN(Node * one, Make(inner, "OnesLike", "one", {loop.inside[0]}));
    ASSIGN_OR_RETURN(Node * next, Make(inner, "Add", "next", {loop.inside[0], {one, 0}}));
    made.outputs.insert(made.outputs.begin(), {next, 0});
  }
  loop.has_effects |= made.after != nullptr;
  if (!loop.has_effects) loop.result.after = nullptr;
  std::vector<Node*> controls;  // the next round sees all effects of this one
  if (made.after != nullptr) controls.push_back(made.after);
  for (size_t i = 0; i < loop.inputs.size(); ++i) {
    if (!loop.carries[i]) continue;
    ASSIGN_OR_RETURN(Node * next, Make(scope, "NextIteration", "NextIteration", {made.outputs[i]},
                                       {}, controls));
    RETURN_IF_ERROR(to_.SetBackEdge(loop.merges[i], 1, {next, 0}));
  }
  return OkStatus();
}

std::vector<PartialShape> FunctionExpander::StableShapes(const Loop& loop) const {
  const size_t first = loop.is_for() ? 1 : 0;
  std::vector<ArgShape> variables;
  for (size_t i = first; i < loop.inputs.size(); ++i) {
    const Output& input = loop.inputs[i];
    variables.push_back({input.shape(), input.node->output_handle_shape(input.index)});
  }
  std::vector<PartialShape> shapes = StableLoopShapes(
      library_, to_.shared_registry(), loop.function, std::move(variables), loop.is_for());
  if (loop.is_for() && !shapes.empty()) shapes.insert(shapes.begin(), Shape());
  return shapes;
}

}  // namespace thalweg
