// SPDX-License-Identifier: Apache-2.0
// One element of a list.
#include "thalweg/graph/op_registry.h"
#include "thalweg/ops/list/list_inference.h"

namespace thalweg {
namespace {

// Output 0 is the list of input 0 with what input `item` adds to what is known.
Status ChangedList(ShapeContext& c, int item, ListUse use) {
  RETURN_IF_ERROR(c.InputWithRank(0, 0).status());
  RETURN_IF_ERROR(WithListShape(c, c.input(item), use).status());
  SetSameList(c, 0);
  return OkStatus();
}

Status PushShape(ShapeContext& c) { return ChangedList(c, 1, ListUse::kPush); }

// Inputs: list, element_shape.
Status PopShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 0).status());
  ASSIGN_OR_RETURN(PartialShape given, GivenElementShape(c, 1));
  ASSIGN_OR_RETURN(PartialShape element, WithListShape(c, std::move(given), ListUse::kRead));
  SetSameList(c, 0);
  c.set_output(1, std::move(element));
  return OkStatus();
}

// Inputs: list, index, element_shape.
Status GetShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 0).status());
  RETURN_IF_ERROR(c.InputWithRank(1, 0).status());
  ASSIGN_OR_RETURN(PartialShape given, GivenElementShape(c, 2));
  ASSIGN_OR_RETURN(PartialShape element, WithListShape(c, std::move(given), ListUse::kOther));
  c.set_output(0, std::move(element));
  return OkStatus();
}

// Inputs: list, index, item.
Status SetShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(1, 0).status());
  return ChangedList(c, 2, ListUse::kOther);
}

Status PushBatchShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRankAtLeast(1, 1).status());
  return UnchangedShape(c);
}

Status PushGradient(GradientContext& c) {
  Node* const popped = c.b().OpNode("TensorListPopBack", {c.grad(0), ShapeOfTensor(c, c.input(1))},
                                    {{"element_dtype", c.input(1).dtype()}});
  if (popped == nullptr) return c.b().status();
  c.set_input_grad(0, Output{popped, 0});
  c.set_input_grad(1, Output{popped, 1});
  return OkStatus();
}

Status PopGradient(GradientContext& c) {
  c.set_input_grad(0, c.b().Op("TensorListPushBack", {c.grad(0), c.grad(1)}));
  return c.b().status();
}

// A list of nothing but the gradient.
Status GetGradient(GradientContext& c) {
  const Output list = c.input(0);
  const Output empty =
      c.b().Op("TensorListReserve", {ListElementShape(c, list), ListLength(c, list)},
               {{"element_dtype", c.output(0).dtype()}});
  c.set_input_grad(0, c.b().Op("TensorListSetItem", {empty, c.input(1), c.grad(0)}));
  return c.b().status();
}

Status SetGradient(GradientContext& c) {
  const Output grad = c.grad(0), item = c.input(2);
  Output rest = c.b().Op("TensorListSetItem", {grad, c.input(1), c.b().Op("ZerosLike", {item})});
  const AttrValue* const grows = c.node().FindAttr("resize_if_index_out_of_bounds");
  if (grows != nullptr && *grows == AttrValue(true)) {  // the list may have been shorter before
    rest = c.b().Op("TensorListResize", {rest, ListLength(c, c.input(0))});
  }
  c.set_input_grad(0, rest);
  c.set_input_grad(2, c.b().Op("TensorListGetItem", {grad, c.input(1), ShapeOfTensor(c, item)},
                               {{"element_dtype", item.dtype()}}));
  return c.b().status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(tensor_list_element) {
  registry.Op("TensorListPushBack")
      .Shape(PushShape)
      .Gradient(PushGradient)
      .Doc("A list with one element more.");
  registry.Op("TensorListPopBack")
      .Shape(PopShape)
      .Gradient(PopGradient)
      .Doc("A list without its last element, and that element.");
  registry.Op("TensorListGetItem")
      .Shape(GetShape)
      .Gradient(GetGradient)
      .Doc("An element of a list.");
  registry.Op("TensorListSetItem")
      .Shape(SetShape)
      .Gradient(SetGradient)
      .Doc("A list with another element at one place.");
  registry.Op("TensorListPushBackBatch")
      .Shape(PushBatchShape)
      .NotDifferentiable("TensorFlow has no gradient for it either")
      .Doc("Lists with one element more each: the rows of a tensor.");
}
