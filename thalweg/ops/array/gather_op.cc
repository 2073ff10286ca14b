// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/gradient_context.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"
#include "thalweg/graph/shape_values.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

// params[:axis] + indices[batch:] + params[axis+1:].
Result<PartialShape> PickedShape(const PartialShape& params, const PartialShape& indices, int axis,
                                 int batch) {
  Dims dims;
  for (int i = 0; i < axis; ++i) dims.push_back(params.dim(i));
  for (int i = batch; i < indices.rank(); ++i) dims.push_back(indices.dim(i));
  for (int i = axis + 1; i < params.rank(); ++i) dims.push_back(params.dim(i));
  return PartialShape::Make(dims);
}

Status GatherShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape params, c.InputWithRankAtLeast(0, 1));
  if (!params.known_rank() || !c.input(1).known_rank()) return OkStatus();
  ASSIGN_OR_RETURN(PartialShape shape, PickedShape(params, c.input(1), 0, 0));
  c.set_output(0, std::move(shape));
  return OkStatus();
}

Status GatherV2Shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape params, c.InputWithRankAtLeast(0, 1));
  RETURN_IF_ERROR(c.InputWithRank(2, 0).status());
  ASSIGN_OR_RETURN(int64_t batch, c.Attr<int64_t>("batch_dims"));
  const PartialShape& indices = c.input(1);
  if (!params.known_rank() || !indices.known_rank()) return OkStatus();
  if (batch < -indices.rank() || batch > indices.rank()) {
    return InvalidArgument("batch_dims = ", batch, " is not in [", -indices.rank(), ", ",
                           indices.rank(), "]");
  }
  if (batch < 0) batch += indices.rank();
  const Tensor axis_value = c.InputValue(2);
  if (axis_value.empty()) {
    const int64_t rank = params.rank() - 1 + indices.rank() - batch;
    c.set_output(0, PartialShape::OfRank(static_cast<int>(rank)));
    return OkStatus();
  }
  ASSIGN_OR_RETURN(const int axis, CheckAxis(IntAt(axis_value, 0), params.rank()));
  if (axis < batch) {
    return InvalidArgument("batch_dims = ", batch, " must not be greater than axis = ", axis);
  }
  for (int i = 0; i < batch; ++i) {
    RETURN_IF_ERROR(MergeDims(params.dim(i), indices.dim(i)).status());
  }
  ASSIGN_OR_RETURN(PartialShape shape, PickedShape(params, indices, axis, static_cast<int>(batch)));
  c.set_output(0, std::move(shape));
  return OkStatus();
}

Output IntVectorOf(GraphBuilder& b, std::vector<int32_t> values) { return b.Const(values); }

// Rows of dimension 0 got the gradients: sparse.
Status SparseRows(GradientContext& c) {
  GraphBuilder& b = c.b();
  const Output shape = b.Op("Shape", {c.input(0)});
  const Output rest =
      b.Op("StridedSlice", {shape, IntVectorOf(b, {1}), IntVectorOf(b, {0}), IntVectorOf(b, {1})},
           {{"end_mask", 1}});
  const Output count = b.Op("Reshape", {b.Op("Size", {c.input(1)}), IntVectorOf(b, {1})});
  const Output rows = b.Op("ConcatV2", {count, rest, b.ScalarConst(DType::kInt32, 0)});
  c.set_input_grad(0, GradientValue{b.Op("Reshape", {c.grad(0), rows}),
                                    b.Op("Reshape", {c.input(1), IntVectorOf(b, {-1})}), shape});
  return b.status();
}

// [begin, end) of a vector.
Output Part(GraphBuilder& b, Output vector, Output begin, Output end) {
  const Output one = IntVectorOf(b, {1});
  return b.Op("StridedSlice",
              {vector, b.Op("Reshape", {begin, one}), b.Op("Reshape", {end, one}), one});
}

// Any axis: the gradient as a matrix [outer, picked, inner]; picked comes
// first, is summed per index, and goes back. Works on shapes at run time, so
// ranks need not be known.
Status DenseRows(GradientContext& c, Output axis) {
  GraphBuilder& b = c.b();
  const Output zero = b.ScalarConst(DType::kInt32, 0);
  const Output shape = b.Op("Shape", {c.input(0)});
  const Output rank = b.Op("Rank", {c.input(0)});
  if (axis.dtype() != DType::kInt32) axis = b.Op("Cast", {axis}, {{"DstT", DType::kInt32}});
  axis = b.Op("FloorMod", {axis, rank});
  const Output next = b.Op("AddV2", {axis, b.ScalarConst(DType::kInt32, 1)});
  const auto product = [&](Output begin, Output end) {
    return b.Op("Prod", {Part(b, shape, begin, end), IntVectorOf(b, {0})});
  };
  const Output outer = product(zero, axis);
  const Output rows = product(axis, next);
  const Output inner = product(next, rank);
  const Output count = b.Op("Size", {c.input(1)});
  const Output perm = IntVectorOf(b, {1, 0, 2});
  const Output blocks = b.Op("Reshape", {c.grad(0), b.Op("Pack", {outer, count, inner})});
  const Output summed =
      b.Op("UnsortedSegmentSum", {b.Op("Transpose", {blocks, perm}),
                                  b.Op("Reshape", {c.input(1), IntVectorOf(b, {-1})}), rows});
  c.set_input_grad(0, b.Op("Reshape", {b.Op("Transpose", {summed, perm}), shape}));
  return b.status();
}

// With the batch in front of the axis, each batch gets rows of its own: index +
// batch * rows.
Status BatchRows(GradientContext& c, Output axis, int64_t batch_dims) {
  GraphBuilder& b = c.b();
  if (batch_dims < 0) {
    return Unimplemented("the gradient of GatherV2 with batch_dims = ", batch_dims,
                         ": give batch_dims from the front");
  }
  const Tensor axis_value = ConstantValue(axis);
  const bool axis_follows = !axis_value.empty() && IntAt(axis_value, 0) == batch_dims;
  if (!axis_follows) {
    return Unimplemented("the gradient of GatherV2 with batch_dims = ", batch_dims,
                         " is there for a constant axis of the same number only");
  }
  const auto at = static_cast<int32_t>(batch_dims);
  const Output shape = b.Op("Shape", {c.input(0)});
  const Output zero = b.ScalarConst(DType::kInt32, 0);
  const Output one = b.ScalarConst(DType::kInt32, 1);
  const Output first = IntVectorOf(b, {0});
  const Output batch =
      b.Op("Prod", {Part(b, shape, zero, b.ScalarConst(DType::kInt32, at)), first});
  const Output rows =
      b.Op("Prod",
           {Part(b, shape, b.ScalarConst(DType::kInt32, at), b.ScalarConst(DType::kInt32, at + 1)),
            first});
  const Output inner = b.Op(
      "Prod",
      {Part(b, shape, b.ScalarConst(DType::kInt32, at + 1), b.Op("Rank", {c.input(0)})), first});
  const Output each = b.ScalarConst(DType::kInt32, -1);
  Output indices = b.Op("Cast", {c.input(1)}, {{"DstT", DType::kInt32}});
  const Output per_batch =
      b.Op("FloorDiv", {b.Op("Size", {indices}), b.Op("Maximum", {batch, one})});
  indices = b.Op("Reshape", {indices, b.Op("Pack", {batch, per_batch})});
  const Output offsets = b.Op(
      "Reshape", {b.Op("Mul", {b.Op("Range", {zero, batch, one}), rows}), IntVectorOf(b, {-1, 1})});
  const Output flat = b.Op("Reshape", {b.Op("AddV2", {indices, offsets}), b.Op("Pack", {each})});
  const Output count = b.Op("Size", {flat});
  const Output values = b.Op("Reshape", {c.grad(0), b.Op("Pack", {count, inner})});
  const Output summed = b.Op("UnsortedSegmentSum", {values, flat, b.Op("Mul", {batch, rows})});
  c.set_input_grad(0, b.Op("Reshape", {summed, shape}));
  return b.status();
}

Status GatherGradient(GradientContext& c) { return c.has_grad(0) ? SparseRows(c) : OkStatus(); }

Status GatherV2Gradient(GradientContext& c) {
  if (!c.has_grad(0)) return OkStatus();
  ASSIGN_OR_RETURN(const int64_t batch_dims, c.node().Attr<int64_t>("batch_dims"));
  const Output axis = c.input(2);
  if (batch_dims != 0) return BatchRows(c, axis, batch_dims);
  const Tensor axis_value = ConstantValue(axis);
  const bool is_rows = !axis_value.empty() && IntAt(axis_value, 0) == 0;
  return is_rows ? SparseRows(c) : DenseRows(c, axis);
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(gather) {
  registry.Op("Gather")
      .Shape(GatherShape)
      .Gradient(GatherGradient)
      .Doc("The rows of params that indices name.");
  registry.Op("GatherV2")
      .Shape(GatherV2Shape)
      .Gradient(GatherV2Gradient)
      .Doc("The slices of params along axis that indices name, batch by batch.");
}
