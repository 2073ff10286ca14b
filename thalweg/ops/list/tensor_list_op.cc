// SPDX-License-Identifier: Apache-2.0
// Lists as a whole: made, measured, cut and joined.
#include "thalweg/graph/op_registry.h"
#include "thalweg/ops/list/list_inference.h"

namespace thalweg {
namespace {

// Inputs: element_shape, number of elements.
Status MakeShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(1, 0).status());
  return NewListShape<0>(c);
}

Status LengthShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 0).status());
  return ScalarShape(c);
}

// A vector, or a scalar when the rank is not known: which is known only with the list.
Status ElementShapeShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 0).status());
  const HandleShape* const handle = c.input_handle_shape(0);
  if (handle != nullptr && handle->shape.known_rank()) {
    c.set_output(0, PartialShape{handle->shape.rank()});
  }
  return OkStatus();
}

Status ResizeShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 0).status());
  RETURN_IF_ERROR(c.InputWithRank(1, 0).status());
  SetSameList(c, 0);
  return OkStatus();
}

Status ConcatListsShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(PartialShape shape, c.input(0).MergeWith(c.input(1)));
  c.set_output(0, std::move(shape));
  if (c.input_handle_shape(0) != nullptr) c.set_output_handle(0, *c.input_handle_shape(0));
  return OkStatus();
}

Status ResizeGradient(GradientContext& c) {
  c.set_input_grad(0, c.b().Op("TensorListResize", {c.grad(0), ListLength(c, c.input(0))}));
  return c.b().status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(tensor_list) {
  registry.Op("EmptyTensorList")
      .Shape(MakeShape)
      .NotDifferentiable("it has no inputs but sizes")
      .Doc("A list without elements.");
  registry.Op("TensorListReserve")
      .Shape(MakeShape)
      .NotDifferentiable("it has no inputs but sizes")
      .Doc("A list of elements that are not set.");
  registry.Op("TensorListLength")
      .Shape(LengthShape)
      .NotDifferentiable("a length does not depend on values")
      .Doc("How many elements a list has.");
  registry.Op("TensorListElementShape")
      .Shape(ElementShapeShape)
      .NotDifferentiable("a shape does not depend on values")
      .Doc("The shape of a list's elements, with -1 for what is not known.");
  registry.Op("TensorListResize")
      .Shape(ResizeShape)
      .Gradient(ResizeGradient)
      .Doc("The first elements of a list, or all and some that are not set.");
  registry.Op("TensorListConcatLists")
      .Shape(ConcatListsShape)
      .NotDifferentiable("TensorFlow has no gradient for it either")
      .Doc("The elements of one list, then those of another.");
}
