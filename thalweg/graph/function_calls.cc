// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/function_calls.h"

#include <algorithm>

#include "thalweg/graph/attr_value_proto.h"
#include "thalweg/graph/gradient_context.h"
#include "thalweg/graph/graph_proto.h"
#include "thalweg/graph/op_def_proto.h"
#include "thalweg/graph/shape_inference.h"
#include "thalweg/graph/variable_zeros.h"
#include "thalweg/proto/wire.h"

namespace thalweg {
namespace {

std::vector<PartialShape> ShapesOf(const FunctionBody& body) {
  std::vector<PartialShape> shapes;
  shapes.reserve(body.rets.size());
  for (const Output& ret : body.rets) shapes.push_back(ret.shape());
  return shapes;
}

bool IsKnown(const Output& ret) {
  if (ret.dtype() == DType::kResource) return ret.node->output_handle_shape(ret.index) != nullptr;
  return ret.shape().IsFullyDefined();
}

// With what is known of the arguments, where that can say more of the results; null where there is
// no such function.
std::shared_ptr<const FunctionBody> BodyOfCall(const ShapeContext& c, const FunctionRef& function,
                                               int first_input) {
  const Graph& graph = c.node().graph();
  Result<std::shared_ptr<const FunctionBody>> general =
      InstantiateFunction(graph.library(), graph.shared_registry(), function);
  if (!general.ok()) return nullptr;
  const std::vector<Output>& rets = (*general)->rets;
  std::vector<ArgShape> args;
  bool informed = false;
  for (int i = first_input; i < c.num_inputs(); ++i) {
    args.push_back({c.input(i), c.input_handle_shape(i)});
    informed |= c.input(i).known_rank() || args.back().handle != nullptr;
  }
  const bool known = std::all_of(rets.begin(), rets.end(), IsKnown);
  if (known || !informed || args.size() != (*general)->args.size()) return *std::move(general);
  Result<std::shared_ptr<const FunctionBody>> special =
      InstantiateFunction(graph.library(), graph.shared_registry(), function, &args);
  return special.ok() ? *std::move(special) : *std::move(general);
}

// What a resource's gradient is made of; other types are their own.
DType GradientType(const Output& input) {
  return input.dtype() == DType::kResource ? VariableType(input) : input.dtype();
}

// `first`: inputs before it are none of the function's.
Status AddSymbolicGradient(GradientContext& c, const FunctionRef& function, int first = 0) {
  const Node& node = c.node();
  std::vector<Output> inputs(node.inputs().begin() + first, node.inputs().end());
  std::vector<DType> types;
  types.reserve(inputs.size());
  for (const Output& input : inputs) types.push_back(GradientType(input));
  for (int i = 0; i < node.num_outputs(); ++i) {
    const bool no_list = node.output_type(i) == DType::kVariant && !c.has_grad(i);
    // No variant has zeros; a number says that there is no gradient.
    inputs.push_back(no_list ? c.b().ScalarConst(DType::kFloat, 0) : c.grad(i));
  }
  if (types.empty()) return OkStatus();
  // The call itself runs, once, also where the gradient alone is asked for.
  GraphBuilder after = c.b().WithControls({const_cast<Node*>(&node)});
  Node* gradient =
      after.OpNode("SymbolicGradient", std::move(inputs),
                   {{"Tout", types}, {"f", function}, {"_forward", std::string(node.name())}});
  if (gradient == nullptr) return c.b().status();
  for (int i = 0; i < gradient->num_outputs(); ++i) {
    const DType type = gradient->output_type(i);
    if (IsFloating(type) || IsComplex(type) || type == DType::kVariant) {
      c.set_input_grad(first + i, Output{gradient, i});
    }
  }
  return c.b().status();
}

// A definition whose body is a copy of `node`, reading the arguments.
Status DefineWrapper(const Node& node, const std::string& name) {
  OpDef signature;
  signature.name = name;
  OwnedMessage definition(pb::FunctionDef::Descriptor());
  OwnedMessage full(pb::NodeDef::Descriptor());
  RETURN_IF_ERROR(NodeToProto(node, &*full));
  Message* call = definition->Add(pb::FunctionDef::kNodeDef);
  call->SetString(pb::NodeDef::kName, "call");
  call->SetString(pb::NodeDef::kOp, node.op_name());
  for (const Message* attr : full->Messages(pb::NodeDef::kAttr)) {
    call->MapMutable(pb::NodeDef::kAttr, attr->GetString(pb::kMapKey))
        ->MergeFrom(attr->GetMessage(pb::kMapValue));
  }
  for (int i = 0; i < node.num_inputs(); ++i) {
    ArgDef arg;
    arg.name = StrCat("in_", i);
    arg.type = node.input_type(i);
    call->AddString(pb::NodeDef::kInput, arg.name);
    signature.inputs.push_back(std::move(arg));
  }
  for (int i = 0; i < node.num_outputs(); ++i) {
    ArgDef arg;
    arg.name = StrCat("out_", i);
    arg.type = node.output_type(i);
    definition->MutableEntry(pb::FunctionDef::kRet, arg.name)
        ->SetString(pb::kMapValue, StrCat("call:", i));
    signature.outputs.push_back(std::move(arg));
  }
  RETURN_IF_ERROR(OpDefToProto(signature, definition->Mutable(pb::FunctionDef::kSignature)));
  ASSIGN_OR_RETURN(std::string bytes, Serialize(*definition));
  return node.graph().library().Add(std::move(signature), std::move(bytes));
}

}  // namespace

Result<FunctionRef> CalledFunction(const Node& node) {
  if (node.op().def.FindAttr("f") != nullptr &&
      node.op().def.FindAttr("f")->kind == AttrValue::Kind::kFunction &&
      node.graph().library().FindOp(node.op_name()) == nullptr) {
    return node.Attr<FunctionRef>("f");
  }
  return FunctionRef{node.op_name(), node.attrs()};
}

std::vector<PartialShape> FunctionOutputShapes(const ShapeContext& c, const FunctionRef& function,
                                               int first_input) {
  const std::shared_ptr<const FunctionBody> body = BodyOfCall(c, function, first_input);
  return body == nullptr ? std::vector<PartialShape>() : ShapesOf(*body);
}

PartialShape CommonShape(const PartialShape& a, const PartialShape& b) {
  if (!a.known_rank() || !b.known_rank() || a.rank() != b.rank()) return PartialShape::Unknown();
  PartialShape common = a;
  for (int i = 0; i < a.rank(); ++i) {
    if (a.dim(i) != b.dim(i)) common.set_dim(i, PartialShape::kUnknownDim);
  }
  return common;
}

std::vector<PartialShape> StableLoopShapes(const FunctionLibrary& library,
                                           const std::shared_ptr<const OpRegistry>& registry,
                                           const FunctionRef& body, std::vector<ArgShape> variables,
                                           bool counted) {
  constexpr int kAttempts = 4;
  const size_t first = counted ? 1 : 0;
  if (counted) variables.insert(variables.begin(), ArgShape{Shape(), nullptr});
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const Result<std::shared_ptr<const FunctionBody>> made =
        InstantiateFunction(library, registry, body, &variables);
    if (!made.ok() || (*made)->rets.size() + first != variables.size()) return {};
    bool changed = false;
    for (size_t i = first; i < variables.size(); ++i) {
      PartialShape common = CommonShape(variables[i].shape, (*made)->rets[i - first].shape());
      changed |= !(common == variables[i].shape);
      variables[i].shape = std::move(common);
    }
    if (changed) continue;
    std::vector<PartialShape> shapes;
    for (size_t i = first; i < variables.size(); ++i) shapes.push_back(variables[i].shape);
    return shapes;
  }
  return {};
}

Status FunctionCallShape(ShapeContext& c) {
  const Result<FunctionRef> function = CalledFunction(c.node());
  if (!function.ok()) return OkStatus();
  const int first = c.node().op_name() == "RemoteCall" ? 1 : 0;
  const std::shared_ptr<const FunctionBody> body = BodyOfCall(c, *function, first);
  if (body == nullptr) return OkStatus();
  for (size_t i = 0; i < body->rets.size() && static_cast<int>(i) < c.num_outputs(); ++i) {
    const Output& ret = body->rets[i];
    c.set_output(static_cast<int>(i), ret.shape());
    if (const HandleShape* handle = ret.node->output_handle_shape(ret.index); handle != nullptr) {
      c.set_output_handle(static_cast<int>(i), *handle);
    }
  }
  return OkStatus();
}

Status FunctionCallGradient(GradientContext& c) {
  ASSIGN_OR_RETURN(const FunctionRef function, CalledFunction(c.node()));
  return AddSymbolicGradient(c, function, c.node().op_name() == "RemoteCall" ? 1 : 0);
}

Status FunctionGradient(GradientContext& c, const FunctionRef& function) {
  return AddSymbolicGradient(c, function);
}

Status WrappedCallGradient(GradientContext& c) {
  const FunctionLibrary& library = c.node().graph().library();
  std::string name;
  for (int i = 0; name.empty() || library.FindOp(name) != nullptr; ++i) {
    name = StrCat("__forward_", c.node().op_name(), "_", i);
  }
  RETURN_IF_ERROR(DefineWrapper(c.node(), name));
  return AddSymbolicGradient(c, {name, {}});
}

}  // namespace thalweg
