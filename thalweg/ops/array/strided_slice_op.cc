// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "thalweg/graph/gradient_context.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"
#include "thalweg/tensor/integers.h"
#include "thalweg/tensor/strided_slice.h"

namespace thalweg {
namespace {

Result<StridedSliceMasks> MasksOf(const Node& node) {
  StridedSliceMasks masks;
  ASSIGN_OR_RETURN(masks.begin, node.Attr<int64_t>("begin_mask"));
  ASSIGN_OR_RETURN(masks.end, node.Attr<int64_t>("end_mask"));
  ASSIGN_OR_RETURN(masks.ellipsis, node.Attr<int64_t>("ellipsis_mask"));
  ASSIGN_OR_RETURN(masks.new_axis, node.Attr<int64_t>("new_axis_mask"));
  ASSIGN_OR_RETURN(masks.shrink_axis, node.Attr<int64_t>("shrink_axis_mask"));
  return masks;
}

AttrMap MaskAttrs(const Node& node) {
  AttrMap attrs;
  for (const char* name :
       {"begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"}) {
    attrs.Set(name, *node.FindAttr(name));
  }
  return attrs;
}

// The shape of `sliced`[begin:end:strides], whose three are inputs first, first + 1, first + 2.
Result<PartialShape> SlicedShape(ShapeContext& c, const PartialShape& sliced, int first) {
  ASSIGN_OR_RETURN(const StridedSliceMasks masks, MasksOf(c.node()));
  RETURN_IF_ERROR(CheckSliceArguments(c.input(first), c.input(first + 1), c.input(first + 2)));
  Dims values[3];
  bool known[3];
  for (int i = 0; i < 3; ++i) {
    const Tensor value = c.InputValue(first + i);
    known[i] = !value.empty();
    if (!known[i]) continue;
    ASSIGN_OR_RETURN(values[i], IntVector(value, i == 0 ? "begin" : i == 1 ? "end" : "strides"));
  }
  if (!known[2] || !sliced.known_rank()) return PartialShape::Unknown();
  ASSIGN_OR_RETURN(StridedSlice slice,
                   MakeStridedSlice(sliced, known[0] ? &values[0] : nullptr,
                                    known[1] ? &values[1] : nullptr, values[2], masks));
  return std::move(slice.shape);
}

// TensorFlow's inference has other words for the arguments than the kernels, and than assignments.
Status StridedSliceShape(ShapeContext& c) {
  PartialShape length = PartialShape::OfRank(1);
  for (int i : {1, 2, 3}) {
    RETURN_IF_ERROR(c.InputWithRank(i, 1).status());
    ASSIGN_OR_RETURN(length, length.MergeWith(c.input(i)));
  }
  ASSIGN_OR_RETURN(PartialShape shape, SlicedShape(c, c.input(0), 1));
  c.set_output(0, std::move(shape));
  return OkStatus();
}

Status StridedSliceGradShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 1).status());
  c.set_output(0, c.InputAsShape(0));
  return OkStatus();
}

// The value must broadcast to the slice, but for more dimensions of size 1 in front; to an empty
// slice does whatever it is.
Status CheckBroadcasts(const PartialShape& value, const PartialShape& slice) {
  if (!slice.known_rank() || !value.known_rank()) return OkStatus();
  const int more = std::max(0, value.rank() - slice.rank());
  PartialShape tail = PartialShape::OfRank(value.rank() - more);
  bool fits = true;
  for (int i = 0; i < value.rank(); ++i) {
    if (i < more) {
      fits = fits && (value.dim(i) == 1 || value.dim(i) == PartialShape::kUnknownDim);
    } else {
      tail.set_dim(i - more, value.dim(i));
    }
  }
  for (int i = 0; i < slice.rank(); ++i) {
    if (slice.dim(i) <= 0) return OkStatus();  // empty, or perhaps
  }
  if (!fits) {
    return InvalidArgument("a value of shape ", value.ToString(),
                           " does not broadcast to the slice, of shape ", slice.ToString());
  }
  ASSIGN_OR_RETURN(const PartialShape both, BroadcastShapes(slice, tail));
  return slice.MergeWith(both).status();
}

Status StridedSliceAssignShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape slice, SlicedShape(c, c.input(0), 1));
  RETURN_IF_ERROR(CheckBroadcasts(c.input(4), slice));
  c.set_output(0, c.input(0));
  return OkStatus();
}

// The gradient in its places among zeros.
Status StridedSliceGradient(GradientContext& c) {
  if (!c.has_grad(0)) return OkStatus();
  GraphBuilder& b = c.b();
  Output places[3];
  for (int i = 0; i < 3; ++i) {
    places[i] = c.input(i + 1);
    if (places[i].dtype() == DType::kInt16) {
      places[i] = b.Op("Cast", {places[i]}, {{"DstT", DType::kInt32}});
    }
  }
  if (!b.ok()) return b.status();
  const Output shape = b.Op("Shape", {c.input(0)}, {{"out_type", places[0].dtype()}});
  c.set_input_grad(0, b.Op("StridedSliceGrad", {shape, places[0], places[1], places[2], c.grad(0)},
                           MaskAttrs(c.node())));
  return b.status();
}

Status StridedSliceGradGradient(GradientContext& c) {
  if (!c.has_grad(0)) return OkStatus();
  c.set_input_grad(4, c.b().Op("StridedSlice", {c.grad(0), c.input(1), c.input(2), c.input(3)},
                               MaskAttrs(c.node())));
  return c.b().status();
}

// What was overwritten gets nothing; a value that was repeated gets the sum.
Status TensorStridedSliceUpdateGradient(GradientContext& c) {
  if (!c.has_grad(0)) return OkStatus();
  GraphBuilder& b = c.b();
  const Output value = c.input(4);
  const AttrMap masks = MaskAttrs(c.node());
  const Output begin = c.input(1), end = c.input(2), strides = c.input(3);
  c.set_input_grad(0, b.Op("TensorStridedSliceUpdate",
                           {c.grad(0), begin, end, strides, b.Op("ZerosLike", {value})}, masks));
  const Output sliced = b.Op("StridedSlice", {c.grad(0), begin, end, strides}, masks);
  const Output shape = b.Op("Shape", {value});
  const Output slice_shape = b.Op("Shape", {sliced});
  Node* const axes = b.OpNode("BroadcastGradientArgs", {shape, slice_shape});
  if (!b.ok()) return b.status();
  // The value may have more dimensions of size 1 in front.
  const Output wide = b.Op("Reshape", {sliced, b.Op("BroadcastArgs", {shape, slice_shape})});
  c.set_input_grad(4, b.Op("Reshape", {b.Op("Sum", {wide, Output{axes, 0}}), shape}));
  return b.status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(strided_slice) {
  registry.Op("StridedSlice")
      .Shape(StridedSliceShape)
      .Gradient(StridedSliceGradient)
      .Doc(
          "x[begin:end:strides], with masks for open ends, ellipsis, new axes and single indices.");
  registry.Op("StridedSliceGrad")
      .Shape(StridedSliceGradShape)
      .Gradient(StridedSliceGradGradient)
      .Doc("The gradient of StridedSlice: dy in its places among zeros.");
  registry.Op("StridedSliceAssign")
      .Shape(StridedSliceAssignShape)
      .NotDifferentiable("it changes a variable")
      .Doc("Writes value into ref[begin:end:strides].");
  registry.Op("ResourceStridedSliceAssign")
      .Shape(NoOutputs)
      .NotDifferentiable("it changes a variable")
      .Doc("Writes value into the variable's [begin:end:strides].");
  registry.Op("TensorStridedSliceUpdate")
      .Shape(StridedSliceAssignShape)
      .Gradient(TensorStridedSliceUpdateGradient)
      .Doc("A tensor with value in the place of its [begin:end:strides].");
}
