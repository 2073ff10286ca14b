// SPDX-License-Identifier: Apache-2.0
// Many elements of a TensorArray at once: rows of a tensor, one after the other (gather, scatter,
// pack, unpack) or pieces of different length (concat, split).
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"
#include "thalweg/ops/list/array_gradient.h"

namespace thalweg {
namespace {

// What attribute and handle know of the elements.
Result<PartialShape> ElementShape(ShapeContext& c, std::string_view attr) {
  ASSIGN_OR_RETURN(PartialShape shape, c.Attr<PartialShape>(attr));
  const HandleShape* const handle = c.input_handle_shape(0);
  if (attr != "element_shape" || handle == nullptr) return shape;
  return shape.MergeWith(handle->shape);
}

// Inputs: handle, indices, flow.
Status ArrayGatherShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape indices, c.InputWithRank(1, 1));
  RETURN_IF_ERROR(c.InputWithRank(2, 0).status());
  ASSIGN_OR_RETURN(const PartialShape element, ElementShape(c, "element_shape"));
  c.set_output(0, indices.Concatenate(element));
  return OkStatus();
}

// Inputs: handle, indices, value, flow.
Status ArrayScatterShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape indices, c.InputWithRank(1, 1));
  ASSIGN_OR_RETURN(const PartialShape value, c.InputWithRankAtLeast(2, 1));
  RETURN_IF_ERROR(c.InputWithRank(3, 0).status());
  if (value.known_rank()) RETURN_IF_ERROR(MergeDims(indices.dim(0), value.dim(0)).status());
  return ScalarShape(c);
}

// Inputs: handle, flow.
Status PackShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(1, 0).status());
  ASSIGN_OR_RETURN(const PartialShape element, ElementShape(c, "element_shape"));
  c.set_output(0, PartialShape{-1}.Concatenate(element));
  return OkStatus();
}

// Inputs: handle, value, flow.
Status UnpackShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRankAtLeast(1, 1).status());
  RETURN_IF_ERROR(c.InputWithRank(2, 0).status());
  return ScalarShape(c);
}

// Inputs: handle, flow.
Status ArrayConcatShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(1, 0).status());
  ASSIGN_OR_RETURN(const PartialShape rest, ElementShape(c, "element_shape_except0"));
  c.set_output(0, PartialShape{-1}.Concatenate(rest));
  c.set_output(1, PartialShape{-1});
  return OkStatus();
}

// Inputs: handle, value, lengths, flow.
Status ArraySplitShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRankAtLeast(1, 1).status());
  RETURN_IF_ERROR(c.InputWithRank(2, 1).status());
  RETURN_IF_ERROR(c.InputWithRank(3, 0).status());
  return ScalarShape(c);
}

Status ArrayGatherGradient(GradientContext& c) {
  const Output grad = c.grad(0);
  const GradientArray array = GradientArrayOf(c, c.input(2));
  c.set_input_grad(2, c.b().Op(StrCat("TensorArrayScatter", ArrayVersion(c.node())),
                               {array.handle, c.input(1), grad, array.flow}));
  return c.b().status();
}

Status ArrayScatterGradient(GradientContext& c) {
  const Output flow = c.grad(0);
  const GradientArray array = GradientArrayOf(c, flow);
  c.set_input_grad(
      2, c.b().Op(StrCat("TensorArrayGather", ArrayVersion(c.node())),
                  {array.handle, c.input(1), array.flow}, {{"dtype", c.input(2).dtype()}}));
  c.set_input_grad(3, flow);
  return c.b().status();
}

Status PackGradient(GradientContext& c) {
  const Output grad = c.grad(0);
  const GradientArray array = GradientArrayOf(c, c.input(1));
  c.set_input_grad(1, c.b().Op("TensorArrayUnpack", {array.handle, grad, array.flow}));
  return c.b().status();
}

Status UnpackGradient(GradientContext& c) {
  const Output flow = c.grad(0);
  const GradientArray array = GradientArrayOf(c, flow);
  c.set_input_grad(
      1, c.b().Op("TensorArrayPack", {array.handle, array.flow}, {{"dtype", c.input(1).dtype()}}));
  c.set_input_grad(2, flow);
  return c.b().status();
}

Status ArrayConcatGradient(GradientContext& c) {
  const Output grad = c.grad(0);
  const GradientArray array = GradientArrayOf(c, c.input(1));
  c.set_input_grad(1, c.b().Op(StrCat("TensorArraySplit", ArrayVersion(c.node())),
                               {array.handle, grad, c.output(1), array.flow}));
  return c.b().status();
}

Status ArraySplitGradient(GradientContext& c) {
  const Output flow = c.grad(0);
  const GradientArray array = GradientArrayOf(c, flow);
  c.set_input_grad(1, c.b().Op(StrCat("TensorArrayConcat", ArrayVersion(c.node())),
                               {array.handle, array.flow}, {{"dtype", c.input(1).dtype()}}));
  c.set_input_grad(3, flow);
  return c.b().status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(tensor_array_rows) {
  for (const char* version : {"", "V2", "V3"}) {
    registry.Op(StrCat("TensorArrayGather", version))
        .Shape(ArrayGatherShape)
        .Gradient(ArrayGatherGradient)
        .Doc("Reads elements as the rows of one tensor.");
    registry.Op(StrCat("TensorArrayScatter", version))
        .Shape(ArrayScatterShape)
        .Gradient(ArrayScatterGradient)
        .Doc("Writes the rows of a tensor as elements.");
    registry.Op(StrCat("TensorArrayConcat", version))
        .Shape(ArrayConcatShape)
        .Gradient(ArrayConcatGradient)
        .Doc("Reads all elements one after the other along their first dimension.");
    registry.Op(StrCat("TensorArraySplit", version))
        .Shape(ArraySplitShape)
        .Gradient(ArraySplitGradient)
        .Doc("Writes pieces of a tensor, of the given lengths, as elements.");
  }
  registry.Op("TensorArrayPack")
      .Shape(PackShape)
      .Gradient(PackGradient)
      .Doc("Reads all elements as the rows of one tensor.");
  registry.Op("TensorArrayUnpack")
      .Shape(UnpackShape)
      .Gradient(UnpackGradient)
      .Doc("Writes all rows of a tensor as elements.");
}
