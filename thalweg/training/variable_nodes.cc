// SPDX-License-Identifier: Apache-2.0
#include "thalweg/training/variable_nodes.h"

namespace thalweg {

DType VariableNodes::dtype() const {
  const char* attr = "dtype";
  Result<DType> dtype = handle.node->Attr<DType>(attr);
  return dtype.ok() ? *dtype : DType::kInvalid;
}

PartialShape VariableNodes::shape() const {
  Result<PartialShape> shape = handle.node->Attr<PartialShape>("shape");
  return shape.ok() ? *std::move(shape) : PartialShape();
}

Result<VariableNodes> AddVariable(GraphBuilder b, std::string_view name, Output initial_value,
                                  bool use_resource) {
  if (initial_value.node == nullptr)
    return InvalidArgument("variable '", name, "' needs an initial value");
  const PartialShape& shape = initial_value.shape();
  if (!shape.IsFullyDefined()) {
    return InvalidArgument("the initial value '", initial_value, "' of variable '", name,
                           "' has shape ", shape, "; a fully defined shape is needed");
  }
  const DType dtype = initial_value.dtype();
  VariableNodes v;
  // A second variable of a name has parts, and a state, of its own.
  const std::string full_name = b.graph().UniqueName(StrCat(b.prefix(), name));
  const std::string own_name = full_name.substr(b.prefix().size());
  AttrMap attrs = {{"dtype", dtype}, {"shape", shape}};
  if (use_resource) attrs.Set("shared_name", full_name);
  v.handle = b.Op(use_resource ? "VarHandleOp" : "VariableV2", {}, std::move(attrs), own_name);
  if (!b.ok()) return b.status();
  const GraphBuilder near = b.ColocatedWith(*v.handle.node);
  GraphBuilder c = near;
  if (use_resource) {
    v.initializer =
        c.OpNode("AssignVariableOp", {v.handle, initial_value}, {}, StrCat(own_name, "/Assign"));
    v.value = c.Op("ReadVariableOp", {v.handle}, {{"dtype", dtype}},
                   StrCat(own_name, "/Read/ReadVariableOp"));
  } else {
    v.initializer = c.OpNode("Assign", {v.handle, initial_value}, {}, StrCat(own_name, "/Assign"));
    v.value = c.Op("Identity", {v.handle}, {}, StrCat(own_name, "/read"));
  }
  RETURN_IF_ERROR(c.status());
  return v;
}

Result<VariableNodes> VariableOf(Output handle) {
  if (handle.node == nullptr) return InvalidArgument("expected a variable, got no output");
  const std::string& op = handle.node->op_name();
  if (op != "VariableV2" && op != "Variable" && op != "VarHandleOp") {
    return InvalidArgument("expected a variable, got the output of ", handle.node->Label());
  }
  VariableNodes v;
  v.handle = handle;
  const Graph& graph = handle.node->graph();
  const std::string& name = handle.node->name();
  v.initializer = graph.FindNode(StrCat(name, "/Assign"));
  if (Node* read =
          graph.FindNode(StrCat(name, op == "VarHandleOp" ? "/Read/ReadVariableOp" : "/read"));
      read != nullptr) {
    v.value = {read, 0};
  }
  return v;
}

}  // namespace thalweg
