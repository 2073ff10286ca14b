// SPDX-License-Identifier: Apache-2.0
// Many elements of a list at once: the rows of a tensor (stack, gather, scatter) or pieces of
// different length (concat, split).
#include "thalweg/graph/op_registry.h"
#include "thalweg/ops/list/list_inference.h"

namespace thalweg {
namespace {

// Inputs: list, element_shape.
Status StackShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 0).status());
  ASSIGN_OR_RETURN(PartialShape given, GivenElementShape(c, 1));
  ASSIGN_OR_RETURN(const PartialShape element, WithListShape(c, std::move(given), ListUse::kRead));
  ASSIGN_OR_RETURN(const int64_t count, c.Attr<int64_t>("num_elements"));
  if (count < -1) return InvalidArgument("num_elements must be -1 or a number, got ", count);
  c.set_output(0, PartialShape{count}.Concatenate(element));
  return OkStatus();
}

// Inputs: list, indices, element_shape.
Status GatherShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 0).status());
  ASSIGN_OR_RETURN(const PartialShape indices, c.InputWithRank(1, 1));
  ASSIGN_OR_RETURN(PartialShape given, GivenElementShape(c, 2));
  ASSIGN_OR_RETURN(const PartialShape element, WithListShape(c, std::move(given), ListUse::kRead));
  c.set_output(0, indices.Concatenate(element));
  return OkStatus();
}

// Input 0: the tensor whose rows become the elements; input `shape`: what they must be like.
Status FromRows(ShapeContext& c, int shape) {
  ASSIGN_OR_RETURN(const PartialShape rows, c.InputWithRankAtLeast(0, 1));
  ASSIGN_OR_RETURN(const DType dtype, c.Attr<DType>("element_dtype"));
  ASSIGN_OR_RETURN(PartialShape element, GivenElementShape(c, shape));
  if (rows.known_rank()) {
    Dims dims = rows.dims();
    dims.erase(0);
    RETURN_IF_ERROR(element.MergeWith(PartialShape(dims)).status());
  }
  SetList(c, 0, dtype, std::move(element));
  return OkStatus();
}

Status FromTensorShape(ShapeContext& c) { return FromRows(c, 1); }

// Inputs: tensor, indices, element_shape, and perhaps the number of elements.
Status ScatterShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(1, 1).status());
  if (c.num_inputs() == 4) RETURN_IF_ERROR(c.InputWithRank(3, 0).status());
  return FromRows(c, 2);
}

// Inputs: list, tensor, indices.
Status ScatterIntoShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 0).status());
  RETURN_IF_ERROR(c.InputWithRankAtLeast(1, 1).status());
  RETURN_IF_ERROR(c.InputWithRank(2, 1).status());
  SetSameList(c, 0);
  return OkStatus();
}

// Outputs: the elements after each other, their lengths. `element` is the shape of one of them.
Status ConcatOutputs(ShapeContext& c, PartialShape element) {
  RETURN_IF_ERROR(c.InputWithRank(0, 0).status());
  ASSIGN_OR_RETURN(element, WithListShape(c, std::move(element), ListUse::kOther));
  if (element.known_rank()) {
    if (element.rank() == 0) {
      return InvalidArgument("elements to be put after each other must be at least vectors");
    }
    element.set_dim(0, PartialShape::kUnknownDim);
  }
  c.set_output(0, std::move(element));
  c.set_output(1, PartialShape{-1});
  return OkStatus();
}

Status ConcatShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(PartialShape element, c.Attr<PartialShape>("element_shape"));
  return ConcatOutputs(c, std::move(element));
}

// Inputs: list, element_shape, lengths of elements that are not set.
Status ConcatV2Shape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(2, 1).status());
  ASSIGN_OR_RETURN(PartialShape element, GivenElementShape(c, 1));
  return ConcatOutputs(c, std::move(element));
}

// Inputs: tensor, element_shape, lengths.
Status SplitShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRankAtLeast(0, 1).status());
  RETURN_IF_ERROR(c.InputWithRank(2, 1).status());
  return NewListShape<1>(c);
}

Status StackGradient(GradientContext& c) {
  const Output grad = c.grad(0);
  c.set_input_grad(0, c.b().Op("TensorListFromTensor", {grad, RowShapeOf(c, grad)}));
  return c.b().status();
}

Status FromTensorGradient(GradientContext& c) {
  const Output tensor = c.input(0);
  c.set_input_grad(0, c.b().Op("TensorListStack", {c.grad(0), RowShapeOf(c, tensor)},
                               {{"element_dtype", tensor.dtype()}}));
  return c.b().status();
}

// An element that was gathered several times gets the sum of its rows.
Status GatherGradient(GradientContext& c) {
  GraphBuilder& b = c.b();
  const Output grad = c.grad(0), list = c.input(0);
  Node* const unique = b.OpNode("Unique", {c.input(1)});
  if (unique == nullptr) return b.status();
  const Output count = b.Op("Size", {{unique, 0}});
  const Output rows = b.Op("UnsortedSegmentSum", {grad, {unique, 1}, count});
  c.set_input_grad(0, b.Op("TensorListScatterV2",
                           {rows, {unique, 0}, ListElementShape(c, list), ListLength(c, list)}));
  return b.status();
}

Output GatherRows(GradientContext& c, Output list, Output indices, Output tensor) {
  return c.b().Op("TensorListGather", {list, indices, RowShapeOf(c, tensor)},
                  {{"element_dtype", tensor.dtype()}});
}

Status ScatterGradient(GradientContext& c) {
  c.set_input_grad(0, GatherRows(c, c.grad(0), c.input(1), c.input(0)));
  return c.b().status();
}

Status ScatterIntoGradient(GradientContext& c) {
  const Output grad = c.grad(0), tensor = c.input(1), indices = c.input(2);
  const Output zeros = c.b().Op("ZerosLike", {tensor});
  c.set_input_grad(0, c.b().Op("TensorListScatterIntoExistingList", {grad, zeros, indices}));
  c.set_input_grad(1, GatherRows(c, grad, indices, tensor));
  return c.b().status();
}

Status ConcatGradient(GradientContext& c) {
  c.set_input_grad(
      0, c.b().Op("TensorListSplit", {c.grad(0), ListElementShape(c, c.input(0)), c.output(1)}));
  return c.b().status();
}

Status SplitGradient(GradientContext& c) {
  GraphBuilder& b = c.b();
  const Output tensor = c.input(0);
  const Output shape = b.Op("ConcatV2", {b.Const(std::vector<int32_t>{-1}), RowShapeOf(c, tensor),
                                         b.Const(Tensor::Scalar<int32_t>(0))});
  c.set_input_grad(0, b.Op("TensorListConcatV2", {c.grad(0), shape, c.input(2)},
                           {{"element_dtype", tensor.dtype()}}));
  return b.status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(tensor_list_rows) {
  registry.Op("TensorListStack")
      .Shape(StackShape)
      .Gradient(StackGradient)
      .Doc("The elements of a list as the rows of a tensor.");
  registry.Op("TensorListFromTensor")
      .Shape(FromTensorShape)
      .Gradient(FromTensorGradient)
      .Doc("A list of the rows of a tensor.");
  registry.Op("TensorListGather")
      .Shape(GatherShape)
      .Gradient(GatherGradient)
      .Doc("Elements of a list, by index, as the rows of a tensor.");
  for (const char* op : {"TensorListScatter", "TensorListScatterV2"}) {
    registry.Op(op)
        .Shape(ScatterShape)
        .Gradient(ScatterGradient)
        .Doc("A list that has the rows of a tensor at the given indices.");
  }
  registry.Op("TensorListScatterIntoExistingList")
      .Shape(ScatterIntoShape)
      .Gradient(ScatterIntoGradient)
      .Doc("A list with the rows of a tensor at the given indices.");
  registry.Op("TensorListConcat")
      .Shape(ConcatShape)
      .Gradient(ConcatGradient)
      .Doc("The elements of a list one after the other along their first dimension.");
  registry.Op("TensorListConcatV2")
      .Shape(ConcatV2Shape)
      .Gradient(ConcatGradient)
      .Doc("The elements of a list one after the other along their first dimension.");
  registry.Op("TensorListSplit")
      .Shape(SplitShape)
      .Gradient(SplitGradient)
      .Doc("A list of pieces of a tensor, of the given lengths.");
}
