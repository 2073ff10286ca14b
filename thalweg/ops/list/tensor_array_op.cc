// SPDX-License-Identifier: Apache-2.0
// Making TensorArrays and their gradient arrays; their size and end.
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

Status ArrayShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 0).status());
  c.set_output(0, PartialShape{2});
  return OkStatus();
}

// What is known of the elements goes with the handle.
Status ResourceArrayShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 0).status());
  ASSIGN_OR_RETURN(const DType dtype, c.Attr<DType>("dtype"));
  ASSIGN_OR_RETURN(PartialShape element, c.Attr<PartialShape>("element_shape"));
  c.set_output_handle(0, {dtype, std::move(element)});
  return ScalarShape(c);
}

Status GradientArrayShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(1, 0).status());
  c.set_output(0, PartialShape{2});
  return OkStatus();
}

Status GradientResourceShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(1, 0).status());
  if (const HandleShape* handle = c.input_handle_shape(0); handle != nullptr) {
    HandleShape mine = *handle;
    if (c.num_inputs() == 3) {
      RETURN_IF_ERROR(c.InputWithRank(2, 1).status());
      mine.shape = c.InputAsShape(2).Concatenate(mine.shape);
    }
    c.set_output_handle(0, std::move(mine));
  }
  return ScalarShape(c);
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(tensor_array) {
  for (const char* op : {"TensorArray", "TensorArrayV2"}) {
    registry.Op(op)
        .Shape(ArrayShape)
        .NotDifferentiable("a size is no number to differentiate by")
        .Doc("An array of tensors for one step.");
  }
  registry.Op("TensorArrayV3")
      .Shape(ResourceArrayShape)
      .NotDifferentiable("a size is no number to differentiate by")
      .Doc("An array of tensors for one step.");
  for (const char* op : {"TensorArrayGrad", "TensorArrayGradV2"}) {
    registry.Op(op)
        .Shape(GradientArrayShape)
        .NotDifferentiable("handles carry no gradient; the flow does, beside this operation")
        .Doc("The gradient array of a TensorArray.");
  }
  for (const char* op : {"TensorArrayGradV3", "TensorArrayGradWithShape"}) {
    registry.Op(op)
        .Shape(GradientResourceShape)
        .NotDifferentiable("handles carry no gradient; the flow does, beside this operation")
        .Doc("The gradient array of a TensorArray.");
  }
  for (const char* op : {"TensorArraySize", "TensorArraySizeV2", "TensorArraySizeV3"}) {
    registry.Op(op)
        .Shape(ScalarShape)
        .NotDifferentiable("a size does not depend on values")
        .Doc("How many elements a TensorArray has.");
  }
  for (const char* op : {"TensorArrayClose", "TensorArrayCloseV2", "TensorArrayCloseV3"}) {
    registry.Op(op)
        .Shape(NoOutputs)
        .NotDifferentiable("it has no outputs")
        .Doc("Releases the elements of a TensorArray.");
  }
}
