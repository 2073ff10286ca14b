// SPDX-License-Identifier: Apache-2.0
#include "thalweg/base/check.h"
#include "thalweg/graph/function_calls.h"
#include "thalweg/graph/gradient_context.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

// The function that is called in the end, whatever the form of the call; its name is empty where
// there are several, or none.
FunctionRef FunctionBehind(const Node& node, const FunctionRef& call) {
  if (node.graph().library().FindOp(call.name) != nullptr) return call;
  if (call.name != "PartitionedCall" && call.name != "StatefulPartitionedCall") return {};
  const AttrValue* const function = call.attrs.Find("f");
  const FunctionRef* const given = function == nullptr ? nullptr : function->GetIf<FunctionRef>();
  return given == nullptr ? FunctionRef() : *given;
}

Status RuntimeCallGradient(GradientContext& c) {
  ASSIGN_OR_RETURN(const FunctionRef call, c.node().Attr<FunctionRef>("call"));
  const FunctionRef function = FunctionBehind(c.node(), call);
  if (function.name.empty()) {
    return Unimplemented("no gradient of a recursion through ", call.name,
                         ": only that of a function that calls itself by its name or by a "
                         "PartitionedCall is there, once");
  }
  return FunctionGradient(c, function);
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(runtime_call) {
  using Kind = AttrValue::Kind;
  OpDef call;
  call.name = "_RuntimeCall";
  call.inputs.push_back({.name = "args", .type_list_attr = "Tin"});
  call.outputs.push_back({.name = "output", .type_list_attr = "Tout"});
  call.attrs = {{.name = "Tin", .kind = Kind::kTypeList},
                {.name = "Tout", .kind = Kind::kTypeList},
                {.name = "call", .kind = Kind::kFunction}};
  call.is_stateful = true;
  CHECK(registry.Define(std::move(call), nullptr, nullptr).ok());
  registry.Op("_RuntimeCall")
      .Shape(UnknownShape)
      .Gradient(RuntimeCallGradient)
      .Doc("Runs the operation that `call` names, a call of a function, when it comes to it.");
}
