// SPDX-License-Identifier: Apache-2.0
// TopK: the k largest elements of each row; InTopK: whether a class is among them.
#include "thalweg/graph/gradient_math.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

Status TopKShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(PartialShape shape, c.InputWithRankAtLeast(0, 1));
  int64_t k = PartialShape::kUnknownDim;
  if (c.num_inputs() == 1) {
    ASSIGN_OR_RETURN(k, c.Attr<int64_t>("k"));
  } else {
    RETURN_IF_ERROR(c.InputWithRank(1, 0).status());
    const Tensor value = c.InputValue(1);
    if (!value.empty()) {
      k = IntAt(value, 0);
      if (k < 0) return InvalidArgument("k must not be negative, got ", k);
    }
  }
  if (!shape.known_rank()) return OkStatus();
  const int64_t columns = shape.dim(shape.rank() - 1);
  if (columns >= 0 && k > columns) {
    return InvalidArgument("input must have at least k = ", k, " columns, got ", shape.ToString());
  }
  shape.set_dim(shape.rank() - 1, k);
  c.set_output(0, shape);
  c.set_output(1, shape);
  return OkStatus();
}

// The last element of a shape, as a scalar.
Output Last(GradientMath& m, Output shape) {
  return m.Op("StridedSlice", {shape, m.Ints({-1}), m.Ints({0}), m.Ints({1})},
              {{"end_mask", 1}, {"shrink_axis_mask", 1}});
}

// Each gradient goes back to the place that it came from.
Status TopKGradient(GradientContext& c) {
  GradientMath m(c);
  const Output shape = m.Shape(c.input(0)), minus = m.Ints({-1});
  const Output places = m.Op("Cast", {c.output(1)}, {{"DstT", DType::kInt32}});
  const Output k = m.Op("Reshape", {Last(m, m.Shape(places)), m.Ints({1})});
  const Output outer = m.Op("StridedSlice", {shape, m.Ints({0}), minus, m.Ints({1})});
  const Output count = m.Op("Prod", {outer, m.Ints({0})}, {{"keep_dims", true}});
  const Output rows = m.Op("Reshape", {places, m.Op("ConcatV2", {count, k, m.Number(k, 0)})});
  const Output columns = Last(m, shape);
  const Output total = m.Op("Prod", {shape, m.Ints({0})});
  const Output begins = m.Op("Range", {m.Number(columns, 0), total, columns});
  const Output flat = m.Add(rows, m.Op("ExpandDims", {begins, minus}));
  const Output grad = m.Op("UnsortedSegmentSum", {m.Op("Reshape", {c.grad(0), minus}),
                                                  m.Op("Reshape", {flat, minus}), total});
  c.set_input_grad(0, m.Op("Reshape", {grad, shape}));
  return m.status();
}

// The kernels reduce the last dimension; others stay unknown.
Status ApproxTopKShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const int64_t dimension, c.Attr<int64_t>("reduction_dimension"));
  return dimension == -1 ? TopKShape(c) : OkStatus();
}

Status InTopKShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape predictions, c.InputWithRank(0, 2));
  ASSIGN_OR_RETURN(const PartialShape targets, c.InputWithRank(1, 1));
  Result<int64_t> rows = MergeDims(predictions.dim(0), targets.dim(0));
  if (!rows.ok()) {
    return InvalidArgument("predictions and targets must have as many rows, got ",
                           predictions.ToString(), " and ", targets.ToString());
  }
  c.set_output(0, PartialShape{*rows});
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(top_k) {
  for (const char* op : {"TopK", "TopKV2"}) {
    registry.Op(op)
        .Shape(TopKShape)
        .Gradient(TopKGradient)
        .Doc("The k largest elements of each row, largest first, and where they are.");
  }
  registry.Op("ApproxTopK")
      .Shape(ApproxTopKShape)
      .Gradient(TopKGradient)
      .Doc("TopK for those who can do with less than all of the largest: here it is exact.");
  for (const char* op : {"InTopK", "InTopKV2"}) {
    registry.Op(op)
        .Shape(InTopKShape)
        .NotDifferentiable("truth values have no derivatives")
        .Doc("Whether fewer than k classes are more likely than the target.");
  }
}
