// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/gradient_context.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

Status VarHandleShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const DType dtype, c.Attr<DType>("dtype"));
  ASSIGN_OR_RETURN(PartialShape shape, c.Attr<PartialShape>("shape"));
  c.set_output(0, Shape());
  c.set_output_handle(0, {dtype, std::move(shape)});
  return OkStatus();
}

// The variable behind input 0 must have the type that the node says.
Status CheckHandle(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 0).status());
  const HandleShape* handle = c.input_handle_shape(0);
  ASSIGN_OR_RETURN(const DType dtype, c.Attr<DType>("dtype"));
  if (handle != nullptr && handle->dtype != dtype) {
    return InvalidArgument("the variable has type ", handle->dtype, ", attribute 'dtype' is ",
                           dtype);
  }
  return OkStatus();
}

Status ReadVariableShape(ShapeContext& c) {
  RETURN_IF_ERROR(CheckHandle(c));
  if (c.input_handle_shape(0) != nullptr) c.set_output(0, c.input_handle_shape(0)->shape);
  return OkStatus();
}

Status AssignVariableShape(ShapeContext& c) {
  RETURN_IF_ERROR(CheckHandle(c));
  const HandleShape* handle = c.input_handle_shape(0);
  if (handle == nullptr) return OkStatus();
  return Explained(handle->shape.MergeWith(c.input(1)).status(), "the variable and its new value");
}

Status VariableShapeShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 0).status());
  const HandleShape* handle = c.input_handle_shape(0);
  const int rank = handle == nullptr ? -1 : handle->shape.rank();
  c.set_output(0, PartialShape{rank < 0 ? PartialShape::kUnknownDim : rank});
  return OkStatus();
}

Status HandleOnly(ShapeContext& c) { return c.InputWithRank(0, 0).status(); }

Status IsInitializedShape(ShapeContext& c) {
  RETURN_IF_ERROR(HandleOnly(c));
  return ScalarShape(c);
}

// The gradient of a handle is that of the variable.
Status ReadVariableGradient(GradientContext& c) {
  c.set_input_grad(0, c.grad_value(0));
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(resource_variable) {
  constexpr std::string_view kWhy = "it changes a variable";
  registry.Op("VarHandleOp")
      .Shape(VarHandleShape)
      .NotDifferentiable("a variable has no inputs")
      .Doc("A handle of a variable, a tensor that lives from step to step.");
  registry.Op("ReadVariableOp")
      .Shape(ReadVariableShape)
      .Gradient(ReadVariableGradient)
      .Doc("The value of a variable as it is when this runs.");
  registry.Op("AssignVariableOp")
      .Shape(AssignVariableShape)
      .NotDifferentiable(kWhy)
      .Doc("Gives a variable a value.");
  registry.Op("AssignAddVariableOp")
      .Shape(AssignVariableShape)
      .NotDifferentiable(kWhy)
      .Doc("Adds to a variable.");
  registry.Op("AssignSubVariableOp")
      .Shape(AssignVariableShape)
      .NotDifferentiable(kWhy)
      .Doc("Subtracts from a variable.");
  registry.Op("VarIsInitializedOp")
      .Shape(IsInitializedShape)
      .NotDifferentiable("a condition is no number")
      .Doc("Whether anything was assigned to the variable yet.");
  registry.Op("DisableCopyOnRead")
      .Shape(HandleOnly)
      .NotDifferentiable("it gives nothing")
      .Doc("Nothing: a read of a variable here never copies it.");
  registry.Op("DestroyResourceOp")
      .Shape(HandleOnly)
      .NotDifferentiable(kWhy)
      .Doc("Removes a variable: the next step that names it gets a new one, uninitialized.");
  registry.Op("VariableShape")
      .Shape(VariableShapeShape)
      .NotDifferentiable("a shape does not depend on the values")
      .Doc("The dimensions of a variable, as a vector.");
}
