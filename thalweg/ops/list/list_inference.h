// SPDX-License-Identifier: Apache-2.0
// What the shape functions and gradients of the operations on lists share. What is known of a
// list's elements goes with its handle.
// Ownership: values; nodes belong to the graph.
// Threads: those of the context: one at a time.
// Errors: InvalidArgument, in TensorFlow's words, for elements of another type or shape.
#pragma once

#include <utility>

#include "thalweg/graph/gradient_context.h"
#include "thalweg/graph/shape_inference.h"
#include "thalweg/tensor/dtype_words.h"

namespace thalweg {

// The shape that input i, an element_shape, says.
inline Result<PartialShape> GivenElementShape(ShapeContext& c, int i) {
  const PartialShape& form = c.input(i);
  RETURN_IF_ERROR(Explained(CheckRankAtMost(form.rank(), 1),
                            "element_shape must be a vector or the scalar -1"));
  if (!form.known_rank() || form.rank() == 0) return PartialShape::Unknown();
  return c.InputAsShape(i);
}

// What TensorFlow calls an operation on a list in its errors.
enum class ListUse { kRead, kPush, kOther };

// `shape` and what is known of the list of input 0.
inline Result<PartialShape> WithListShape(ShapeContext& c, PartialShape shape, ListUse use) {
  const HandleShape* const handle = c.input_handle_shape(0);
  if (handle == nullptr) return shape;
  const Result<DType> wanted = c.Attr<DType>("element_dtype");
  if (!wanted.ok() || handle->dtype == DType::kInvalid || *wanted == handle->dtype) {
    return handle->shape.MergeWith(shape);
  }
  const std::string_view has = DTypeWord(handle->dtype), type = DTypeWord(*wanted);
  switch (use) {
    case ListUse::kRead:
      return InvalidArgument("Trying to read from list with wrong element dtype. List has type ",
                             has, " but expected type ", type);
    case ListUse::kPush:
      return InvalidArgument("Trying to push to list with wrong element dtype. List has type ", has,
                             " but trying to push element with type ", type);
    case ListUse::kOther:
      break;
  }
  return InvalidArgument("Expected list with element dtype ", type,
                         " but got list with element dtype ", has);
}

// Output i is a list like that of input 0.
inline void SetSameList(ShapeContext& c, int i) {
  c.set_output(i, Shape());
  if (c.input_handle_shape(0) != nullptr) c.set_output_handle(i, *c.input_handle_shape(0));
}

inline void SetList(ShapeContext& c, int i, DType dtype, PartialShape element) {
  c.set_output(i, Shape());
  c.set_output_handle(i, {dtype, std::move(element)});
}

// The shape function of a list of elements of attribute element_dtype and shape `input`.
template <int kShapeInput>
Status NewListShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const DType dtype, c.Attr<DType>("element_dtype"));
  ASSIGN_OR_RETURN(PartialShape element, GivenElementShape(c, kShapeInput));
  SetList(c, 0, dtype, std::move(element));
  return OkStatus();
}

inline Output ListElementShape(GradientContext& c, Output list) {
  return c.b().Op("TensorListElementShape", {list}, {{"shape_type", DType::kInt32}});
}
inline Output ListLength(GradientContext& c, Output list) {
  return c.b().Op("TensorListLength", {list});
}
inline Output ShapeOfTensor(GradientContext& c, Output tensor) {
  return c.b().Op("Shape", {tensor});
}
// The shape of a tensor without its first dimension.
inline Output RowShapeOf(GradientContext& c, Output tensor) {
  GraphBuilder& b = c.b();
  return b.Op("Slice", {ShapeOfTensor(c, tensor), b.Const(std::vector<int32_t>{1}),
                        b.Const(std::vector<int32_t>{-1})});
}

}  // namespace thalweg
