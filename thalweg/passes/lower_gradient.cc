// SPDX-License-Identifier: Apache-2.0
// SymbolicGradient: the function's body as primitives, and its gradient's nodes behind them.
#include "thalweg/graph/variable_zeros.h"
#include "thalweg/passes/function_expander.h"

namespace thalweg {
namespace {

Result<Node*> AddArg(Graph& graph, const Output& like, size_t index) {
  NodeSpec spec;
  spec.name = StrCat("in_", index);
  spec.op = "_Arg";
  spec.attrs = {{"T", like.dtype()},
                {"index", static_cast<int64_t>(index)},
                {"_output_shapes", std::vector<PartialShape>{like.shape()}}};
  const HandleShape* handle = like.node->output_handle_shape(like.index);
  if (handle != nullptr) {
    spec.attrs.Set("_handle_dtypes", std::vector<DType>{handle->dtype});
    spec.attrs.Set("_handle_shapes", std::vector<PartialShape>{handle->shape});
  }
  return graph.AddNode(std::move(spec));
}

}  // namespace

Result<std::shared_ptr<FunctionBody>> FunctionExpander::GradientBody(const FunctionRef& function,
                                                                     const Call& call) {
  ASSIGN_OR_RETURN(const std::shared_ptr<const FunctionBody> forward, Body(function));
  const size_t num_xs = forward->args.size();
  if (call.inputs.size() != num_xs + forward->rets.size()) {
    return InvalidArgument("the gradient of function '", function.name, "' takes its ", num_xs,
                           " inputs and the gradients of its ", forward->rets.size(),
                           " outputs, got ", call.inputs.size(), " inputs");
  }
  auto body = std::make_shared<FunctionBody>();
  body->name = function.name;
  body->graph = std::make_unique<Graph>(to_.shared_registry());
  body->graph->library().SetParent(&library_);
  std::vector<Output> args;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    ASSIGN_OR_RETURN(Node * arg, AddArg(*body->graph, call.inputs[i], i));
    body->args.push_back(arg);
    args.push_back({arg, 0});
  }
  const std::vector<Output> all_xs(args.begin(), args.begin() + static_cast<int64_t>(num_xs));
  FunctionExpander inner(*body->graph, library_, options_);
  inner.KeepCustomGradients();
  CallScope root;
  ASSIGN_OR_RETURN(const Expansion made,
                   inner.Inline(*forward, all_xs, inner.Inner(root, function.name, "forward")));
  std::vector<Output> ys;
  std::vector<Output> grad_ys;
  for (size_t i = 0; i < made.outputs.size(); ++i) {
    const DType type = made.outputs[i].dtype();
    if (!HasFunctionGradient(type)) continue;
    if (type == DType::kVariant && args[num_xs + i].dtype() != type) continue;  // it has none
    ys.push_back(made.outputs[i]);
    grad_ys.push_back(args[num_xs + i]);
    if (grad_ys.back().dtype() != ys.back().dtype()) {
      return InvalidArgument("the gradient of output ", i, " of function '", function.name,
                             "' must be ", ys.back().dtype(), ", got ", grad_ys.back().dtype());
    }
  }
  std::vector<Output> xs;
  std::vector<size_t> place;
  for (size_t i = 0; i < num_xs; ++i) {
    if (!HasFunctionGradient(args[i].dtype()) && args[i].dtype() != DType::kResource) continue;
    xs.push_back(args[i]);
    place.push_back(i);
  }
  std::vector<Output> found(xs.size());
  if (!xs.empty() && !ys.empty()) {
    ASSIGN_OR_RETURN(
        found, options_.gradients(body->graph.get(), ys, xs, grad_ys, nullptr, options_.work));
  }
  body->rets.resize(num_xs);
  for (size_t i = 0; i < xs.size(); ++i) body->rets[place[i]] = found[i];
  for (size_t i = 0; i < num_xs; ++i) {
    if (body->rets[i].node != nullptr) continue;
    ASSIGN_OR_RETURN(body->rets[i], ZeroGradient(args[i], body->graph.get()));
  }
  SortBody(*body);
  return body;
}

bool HasFunctionGradient(DType dtype) {
  return IsFloating(dtype) || IsComplex(dtype) || dtype == DType::kVariant;
}

Result<Output> ZeroGradient(const Output& input, Graph* graph) {
  if (input.dtype() != DType::kResource) {
    ASSIGN_OR_RETURN(Node * zeros, graph->AddNode({.op = "ZerosLike", .inputs = {input}}));
    return Output{zeros, 0};
  }
  const DType dtype = VariableType(input);
  ASSIGN_OR_RETURN(
      Node * value,
      graph->AddNode({.op = "ReadVariableOp", .inputs = {input}, .attrs = {{"dtype", dtype}}}));
  ASSIGN_OR_RETURN(Node * zeros, graph->AddNode({.op = "ZerosLike", .inputs = {{value, 0}}}));
  return Output{zeros, 0};
}

Result<Expansion> FunctionExpander::LowerGradient(const Call& call, const CallScope& scope) {
  ASSIGN_OR_RETURN(const FunctionRef function, call.node.Attr<FunctionRef>("f"));
  const std::string custom(library_.FindGradient(function.name));
  if (!custom.empty()) {
    ASSIGN_OR_RETURN(const std::shared_ptr<const FunctionBody> body,
                     Body({custom, function.attrs}));
    return Inline(*body, call.inputs, Inner(scope, body->name, ""));
  }
  RETURN_IF_ERROR(CheckDepth(Inner(scope, function.name, "")));
  if (options_.gradients == nullptr) {
    return Unimplemented("the gradient of function '", function.name, "': no gradients here");
  }
  Result<std::shared_ptr<FunctionBody>> body = GradientBody(function, call);
  if (!body.ok()) {
    return body.status().WithContext(StrCat("gradient of function '", function.name, "'"));
  }
  return Inline(**body, call.inputs, Inner(scope, function.name, ""));
}

}  // namespace thalweg
