// SPDX-License-Identifier: Apache-2.0
// MapDefun as a loop frame over the rows of its arguments, whose results go into tensor lists.
#include <limits>

#include "thalweg/graph/function_calls.h"
#include "thalweg/passes/function_expander.h"

namespace thalweg {

// Variable 0 counts rows, variable i + 1 is the list of output i.
struct FunctionExpander::Map {
  std::shared_ptr<const FunctionBody> body;
  std::vector<Output> arguments;  // as the body reads them: all rows
  std::vector<Output> captured;
  std::vector<DType> types;  // of the outputs
  std::vector<PartialShape> shapes;

  std::string frame;
  Output rows;
  std::vector<Output> inputs;
  std::vector<Node*> merges;
  std::vector<Output> inside, exits;
  Node* after = nullptr;
};

Result<Expansion> FunctionExpander::LowerMap(const Call& call, const CallScope& scope) {
  Map map;
  ASSIGN_OR_RETURN(const FunctionRef function, call.node.Attr<FunctionRef>("f"));
  ASSIGN_OR_RETURN(map.body, Body(function));
  ASSIGN_OR_RETURN(map.types, call.node.Attr<std::vector<DType>>("output_types"));
  ASSIGN_OR_RETURN(map.shapes, call.node.Attr<std::vector<PartialShape>>("output_shapes"));
  if (map.body->rets.size() != map.types.size() || map.shapes.size() != map.types.size()) {
    return InvalidArgument("function '", function.name, "' must return ", map.types.size(),
                           " values, of ", map.shapes.size(), " shapes, but returns ",
                           map.body->rets.size());
  }
  ASSIGN_OR_RETURN(const auto arguments, call.node.Attr<std::vector<DType>>("Targuments"));
  const auto first_captured = call.inputs.begin() + static_cast<ptrdiff_t>(arguments.size());
  map.arguments.assign(call.inputs.begin(), first_captured);
  map.captured.assign(first_captured, call.inputs.end());
  map.frame = StrCat(scope.prefix, "map_", to_.num_nodes());
  RETURN_IF_ERROR(CountRows(map, scope));
  RETURN_IF_ERROR(BeginMap(map, scope));
  RETURN_IF_ERROR(MapBody(map, scope));
  Expansion made;
  made.after = map.after;
  for (size_t i = 0; i < map.types.size(); ++i) {
    const auto rank = static_cast<int64_t>(map.shapes[i].known_rank() ? map.shapes[i].rank() : 0);
    std::vector<int32_t> dims;
    for (int d = 0; d < rank; ++d) {
      const int64_t dim = map.shapes[i].dim(d);
      if (dim > std::numeric_limits<int32_t>::max()) {
        return InvalidArgument("output_shapes must have sizes below 2^31, got ", dim);
      }
      dims.push_back(static_cast<int32_t>(dim));
    }
    const Tensor shape = map.shapes[i].known_rank() ? Tensor::Of<int32_t>(dims, Shape{rank})
                                                    : Tensor::Scalar(int32_t{-1});
    ASSIGN_OR_RETURN(const Output wanted, Constant(scope, shape));
    ASSIGN_OR_RETURN(Node * rows,
                     Make(scope, "TensorListStack", "TensorListStack", {map.exits[i + 1], wanted},
                          {{"element_dtype", map.types[i]}}));
    made.outputs.push_back({rows, 0});
  }
  return made;
}

// Lives where the call does.
Result<Output> FunctionExpander::Constant(const CallScope& scope, const Tensor& value) {
  std::vector<Node*> controls;
  if (scope.gate != nullptr) controls.push_back(scope.gate);
  ASSIGN_OR_RETURN(Node * made,
                   Make(scope, "Const", "constant", {},
                        {{"dtype", value.dtype()}, {"value", value}}, std::move(controls)));
  return Output{made, 0};
}

// The first dimension, which all arguments must agree in; and what the loop carries.
Status FunctionExpander::CountRows(Map& map, const CallScope& scope) {
  ASSIGN_OR_RETURN(const Output zeros, Constant(scope, Tensor::Vector<int32_t>({0})));
  ASSIGN_OR_RETURN(const Output ones, Constant(scope, Tensor::Vector<int32_t>({1})));
  ASSIGN_OR_RETURN(const Output zero, Constant(scope, Tensor::Scalar(int32_t{0})));
  ASSIGN_OR_RETURN(const Output any_shape, Constant(scope, Tensor::Scalar(int32_t{-1})));
  std::vector<Node*> checks;
  for (const Output& argument : map.arguments) {
    ASSIGN_OR_RETURN(Node * shape, Make(scope, "Shape", "shape", {argument}));
    ASSIGN_OR_RETURN(Node * rows,
                     Make(scope, "StridedSlice", "rows", {{shape, 0}, zeros, ones, ones},
                          {{"shrink_axis_mask", int64_t{1}}}));
    if (map.rows.node == nullptr) {
      map.rows = {rows, 0};
      continue;
    }
    ASSIGN_OR_RETURN(Node * same, Make(scope, "Equal", "same", {map.rows, {rows, 0}}));
    ASSIGN_OR_RETURN(Node * check,
                     Make(scope, "Assert", "All_inputs_must_have_the_same_dimension_0",
                          {{same, 0}, map.rows, {rows, 0}}));
    checks.push_back(check);
  }
  ASSIGN_OR_RETURN(Node * checked, Make(scope, "Identity", "checked", {map.rows}, {}, checks));
  map.rows = {checked, 0};
  map.inputs.push_back(zero);
  for (const DType type : map.types) {
    ASSIGN_OR_RETURN(Node * list, Make(scope, "TensorListReserve", "results", {any_shape, map.rows},
                                       {{"element_dtype", type}}));
    map.inputs.push_back({list, 0});
  }
  return OkStatus();
}

Result<Output> FunctionExpander::EnterMap(const Map& map, const CallScope& scope,
                                          const Output& value, bool constant) {
  std::vector<Node*> before;
  if (!constant && scope.before != nullptr) before.push_back(scope.before);
  ASSIGN_OR_RETURN(Node * made, Make(scope, "Enter", "Enter", {value},
                                     {{"frame_name", map.frame},
                                      {"is_constant", constant},
                                      {"parallel_iterations", int64_t{10}}},
                                     std::move(before)));
  return Output{made, 0};
}

Status FunctionExpander::BeginMap(Map& map, const CallScope& scope) {
  for (std::vector<Output>* constants : {&map.arguments, &map.captured}) {
    for (Output& value : *constants) {
      ASSIGN_OR_RETURN(value, EnterMap(map, scope, value, true));
    }
  }
  ASSIGN_OR_RETURN(const Output rows, EnterMap(map, scope, map.rows, true));
  for (const Output& input : map.inputs) {
    ASSIGN_OR_RETURN(const Output value, EnterMap(map, scope, input, false));
    ASSIGN_OR_RETURN(Node * merge, Make(scope, "Merge", "Merge", {value, Output()}));
    map.merges.push_back(merge);
  }
  ASSIGN_OR_RETURN(Node * less, Make(scope, "Less", "Less", {{map.merges[0], 0}, rows}));
  ASSIGN_OR_RETURN(Node * more, Make(scope, "LoopCond", "LoopCond", {{less, 0}}));
  for (Node* merge : map.merges) {
    ASSIGN_OR_RETURN(Node * parts, Make(scope, "Switch", "Switch", {{merge, 0}, {more, 0}}));
    ASSIGN_OR_RETURN(Node * exit, Make(scope, "Exit", "Exit", {{parts, 0}}));
    map.inside.push_back({parts, 1});
    map.exits.push_back({exit, 0});
  }
  return OkStatus();
}

Status FunctionExpander::MapBody(Map& map, const CallScope& scope) {
  CallScope inner = Inner(scope, map.body->name, "body");
  inner.before = nullptr;
  ASSIGN_OR_RETURN(inner.gate, Make(inner, "Identity", "row", {map.inside[0]}));
  const Output row{inner.gate, 0};
  ASSIGN_OR_RETURN(const Output axis, Constant(inner, Tensor::Scalar(int32_t{0})));
  std::vector<Output> args;
  std::vector<bool> carries;
  for (const Output& argument : map.arguments) {
    ASSIGN_OR_RETURN(Node * one, Make(inner, "GatherV2", "argument", {argument, row, axis}));
    args.push_back({one, 0});
    carries.push_back(true);
  }
  for (const Output& value : map.captured) {
    args.push_back(value);
    carries.push_back(false);
  }
  ASSIGN_OR_RETURN(const Expansion made, Inline(*map.body, args, inner, carries));
  std::vector<Node*> controls;
  if (made.after != nullptr) {
    controls.push_back(made.after);
    map.after = map.exits[0].node;
  }
  ASSIGN_OR_RETURN(Node * one, Make(inner, "OnesLike", "one", {row}));
  ASSIGN_OR_RETURN(Node * count, Make(inner, "Add", "next", {row, {one, 0}}));
  std::vector<Output> next = {{count, 0}};
  for (size_t i = 0; i < map.types.size(); ++i) {
    ASSIGN_OR_RETURN(Node * list, Make(inner, "TensorListSetItem", "result",
                                       {map.inside[i + 1], row, made.outputs[i]}));
    next.push_back({list, 0});
  }
  for (size_t i = 0; i < next.size(); ++i) {
    ASSIGN_OR_RETURN(Node * back,
                     Make(scope, "NextIteration", "NextIteration", {next[i]}, {}, controls));
    RETURN_IF_ERROR(to_.SetBackEdge(map.merges[i], 1, {back, 0}));
  }
  return OkStatus();
}

}  // namespace thalweg
