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
      if (k < 0) return InvalidArgument("Need k >= 0, got ", k);
    }
  }
  if (!shape.known_rank()) return OkStatus();
  const int64_t columns = shape.dim(shape.rank() - 1);
  if (columns >= 0 && k > columns) {
    return InvalidArgument("input must have last dimension >= k = ", k, " but is ", columns);
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

// The gradient of a tensor of this shape: each element of grad at the place of its row that it came
// from.
Output BackToPlaces(GradientMath& m, Output shape, Output from, Output grad) {
  const Output minus = m.Ints({-1});
  const Output places = m.Op("Cast", {from}, {{"DstT", DType::kInt32}});
  const Output k = m.Op("Reshape", {Last(m, m.Shape(places)), m.Ints({1})});
  const Output outer = m.Op("StridedSlice", {shape, m.Ints({0}), minus, m.Ints({1})});
  const Output count = m.Op("Prod", {outer, m.Ints({0})}, {{"keep_dims", true}});
  const Output rows = m.Op("Reshape", {places, m.Op("ConcatV2", {count, k, m.Number(k, 0)})});
  const Output columns = Last(m, shape);
  const Output total = m.Op("Prod", {shape, m.Ints({0})});
  const Output begins = m.Op("Range", {m.Number(columns, 0), total, columns});
  const Output flat = m.Add(rows, m.Op("ExpandDims", {begins, minus}));
  const Output sums = m.Op("UnsortedSegmentSum",
                           {m.Op("Reshape", {grad, minus}), m.Op("Reshape", {flat, minus}), total});
  return m.Op("Reshape", {sums, shape});
}

Status TopKGradient(GradientContext& c) {
  GradientMath m(c);
  c.set_input_grad(0, BackToPlaces(m, m.Shape(c.input(0)), c.output(1), c.grad(0)));
  return m.status();
}

Status ApproxTopKShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const int64_t k, c.Attr<int64_t>("k"));
  ASSIGN_OR_RETURN(const int64_t dimension, c.Attr<int64_t>("reduction_dimension"));
  ASSIGN_OR_RETURN(PartialShape shape, c.InputWithRankAtLeast(0, 1));
  if (!shape.known_rank()) return OkStatus();
  ASSIGN_OR_RETURN(const int axis, NormalizeAxis(dimension, shape.rank(), "reduction_dimension"));
  if (k < 0 || (shape.dim(axis) >= 0 && k > shape.dim(axis))) {
    return InvalidArgument("input must have at least k = ", k, " elements along dimension ", axis,
                           ", got ", shape.ToString());
  }
  shape.set_dim(axis, k);
  c.set_output(0, shape);
  c.set_output(1, shape);
  return OkStatus();
}

// As for TopK, with the dimension moved to the end.
Status ApproxTopKGradient(GradientContext& c) {
  GradientMath m(c);
  ASSIGN_OR_RETURN(const int64_t dimension, c.node().Attr<int64_t>("reduction_dimension"));
  const PartialShape& x = c.input(0).shape();
  if (dimension == -1) {
    c.set_input_grad(0, BackToPlaces(m, m.Shape(c.input(0)), c.output(1), c.grad(0)));
    return m.status();
  }
  if (!x.known_rank()) {
    return Unimplemented("the gradient of ApproxTopK along dimension ", dimension,
                         " of an input of unknown rank");
  }
  ASSIGN_OR_RETURN(const int axis, NormalizeAxis(dimension, x.rank(), "reduction_dimension"));
  std::vector<int32_t> to_end, back(static_cast<size_t>(x.rank()));
  for (int d = 0; d < x.rank(); ++d) {
    if (d != axis) to_end.push_back(d);
  }
  to_end.push_back(axis);
  for (int d = 0; d < x.rank(); ++d) back[static_cast<size_t>(to_end[static_cast<size_t>(d)])] = d;
  const auto moved = [&](Output a) { return m.Op("Transpose", {a, m.Ints(to_end)}); };
  const Output shape = m.Op("GatherV2", {m.Shape(c.input(0)), m.Ints(to_end), m.Ints({0})});
  const Output grad = BackToPlaces(m, shape, moved(c.output(1)), moved(c.grad(0)));
  c.set_input_grad(0, m.Op("Transpose", {grad, m.Ints(back)}));
  return m.status();
}

Status InTopKShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape predictions, c.InputWithRank(0, 2));
  ASSIGN_OR_RETURN(const PartialShape targets, c.InputWithRank(1, 1));
  Result<int64_t> rows = MergeDims(predictions.dim(0), targets.dim(0));
  RETURN_IF_ERROR(Explained(rows.status(), "predictions and targets must have as many rows"));
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
      .Gradient(ApproxTopKGradient)
      .Doc("TopK for those who can do with less than all of the largest: here it is exact.");
  for (const char* op : {"InTopK", "InTopKV2"}) {
    registry.Op(op)
        .Shape(InTopKShape)
        .NotDifferentiable("truth values have no derivatives")
        .Doc("Whether fewer than k classes are more likely than the target.");
  }
}
