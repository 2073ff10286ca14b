// SPDX-License-Identifier: Apache-2.0
// Segment reductions: rows that share a number are combined. Sorted segments are as many as the
// last number says; of unsorted ones the number of segments is an input, and negative numbers drop
// the row.
#include "thalweg/graph/gradient_math.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

// shape without its first `count` dimensions; both known.
PartialShape Rest(const PartialShape& shape, int count) {
  Dims dims;
  for (int d = count; d < shape.rank(); ++d) dims.push_back(shape.dim(d));
  return PartialShape(dims);
}

Status SortedShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape ids, c.InputWithRank(1, 1));
  ASSIGN_OR_RETURN(const PartialShape data, c.InputWithRankAtLeast(0, 1));
  if (!data.known_rank()) return OkStatus();
  c.set_output(0, PartialShape{PartialShape::kUnknownDim}.Concatenate(Rest(data, 1)));
  return OkStatus();
}

Status UnsortedShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(2, 0).status());
  const PartialShape& ids = c.input(1);
  Result<PartialShape> merged = MergePrefix(c.input(0), ids);
  RETURN_IF_ERROR(Explained(merged.status(), "data must start with the shape of segment_ids: ",
                            c.input(0), " against ", ids));
  const PartialShape data = *std::move(merged);
  if (!data.known_rank() || !ids.known_rank()) return OkStatus();
  const Tensor num = c.InputValue(2);
  int64_t segments = PartialShape::kUnknownDim;
  if (!num.empty()) {
    segments = IntAt(num, 0);
    if (segments < 0) return InvalidArgument("num_segments must not be negative, got ", segments);
  }
  c.set_output(0, PartialShape{segments}.Concatenate(Rest(data, ids.rank())));
  return OkStatus();
}

Status SegmentSumGradient(GradientContext& c) {
  GradientMath m(c);
  c.set_input_grad(0, m.Op("GatherV2", {c.grad(0), c.input(1), m.Number(m.Ints({0}), 0)}));
  return m.status();
}

// Ones as high as ids and, behind, of size one in the other dimensions of `data`.
Output Column(GradientMath& m, Output ids, Output data) {
  const Output data_rank = m.Op("Rank", {data}), ids_rank = m.Op("Rank", {ids});
  const Output rest = m.Op("Reshape", {m.Sub(data_rank, ids_rank), m.Ints({1})});
  const Output ones = m.Op("Fill", {rest, m.Number(data_rank, 1)});
  return m.Op("ConcatV2", {m.Shape(ids), ones, m.Number(data_rank, 0)});
}

Status SegmentMeanGradient(GradientContext& c) {
  GradientMath m(c);
  const Output data = c.input(0), ids = c.input(1);
  const Output ones = m.Op("Fill", {Column(m, ids, data), m.Number(data, 1)});
  const Output scaled = m.Div(c.grad(0), m.Op("SegmentSum", {ones, ids}));
  c.set_input_grad(0, m.Op("GatherV2", {scaled, ids, m.Number(m.Ints({0}), 0)}));
  return m.status();
}

// Rows of dropped ids get zeros.
Output GatheredOrZero(GradientMath& m, Output rows, Output ids, Output data) {
  if (!m.status().ok()) return {};
  const Output zero = m.Number(ids, 0);
  const Output gathered =
      m.Op("GatherV2", {rows, m.Op("Maximum", {ids, zero}), m.Number(m.Ints({0}), 0)});
  const Output kept = m.Op("GreaterEqual", {ids, zero});
  const Output column = m.Op("Reshape", {kept, Column(m, ids, data)});
  return m.Where(column, gathered, m.Number(rows, 0));
}

// Every row of the data gets its segment's row; segments are sorted where their number is no input.
Output Spread(GradientMath& m, GradientContext& c, Output rows) {
  const Output ids = c.input(1);
  return c.node().num_inputs() == 2 ? m.Op("GatherV2", {rows, ids, m.Number(m.Ints({0}), 0)})
                                    : GatheredOrZero(m, rows, ids, c.input(0));
}

Status UnsortedSumGradient(GradientContext& c) {
  GradientMath m(c);
  c.set_input_grad(0, GatheredOrZero(m, c.grad(0), c.input(1), c.input(0)));
  return m.status();
}

// The product of the other rows of the segment: the product divided by the row, or, where the row
// is the only zero, the product of those that are not.
Status SegmentProdGradient(GradientContext& c) {
  GradientMath m(c);
  const bool sorted = c.node().num_inputs() == 2;
  const Output data = c.input(0), ids = c.input(1);
  const Output is_zero = m.Op("Equal", {data, m.Number(data, 0)});
  if (!m.status().ok()) return m.status();
  const auto combined = [&](std::string_view sorted_op, std::string_view op, Output rows) {
    return sorted ? m.Op(sorted_op, {rows, ids}) : m.Op(op, {rows, ids, c.input(2)});
  };
  const Output zeros = combined("SegmentSum", "UnsortedSegmentSum",
                                m.Op("Cast", {is_zero}, {{"DstT", DType::kInt32}}));
  const Output others = m.Where(is_zero, m.Number(data, 1), data);
  const Output product = combined("SegmentProd", "UnsortedSegmentProd", others);
  const Output several = m.Op("Greater", {zeros, m.Number(zeros, 1)});
  const Output grad = m.Where(several, m.Number(data, 0), c.grad(0));
  const auto spread = [&](Output rows) { return Spread(m, c, rows); };
  const Output partial = m.Where(is_zero, spread(product), m.Div(spread(c.output(0)), others));
  c.set_input_grad(0, m.Mul(spread(grad), m.Conj(partial)));
  return m.status();
}

// Elements that are equal to the extremum share its gradient.
Status SegmentExtremumGradient(GradientContext& c) {
  GradientMath m(c);
  const bool sorted = c.node().num_inputs() == 2;
  const Output data = c.input(0), ids = c.input(1), grad = c.grad(0);
  const auto spread = [&](Output rows) { return Spread(m, c, rows); };
  const Output equal = m.Op("Equal", {spread(c.output(0)), data});
  const Output chosen =
      m.status().ok() ? m.Op("Cast", {equal}, {{"DstT", data.dtype()}}) : Output();
  const Output count = sorted ? m.Op("SegmentSum", {chosen, ids})
                              : m.Op("UnsortedSegmentSum", {chosen, ids, c.input(2)});
  const Output share = m.Op("DivNoNan", {grad, count});
  c.set_input_grad(0, m.Mul(spread(share), chosen));
  return m.status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(segment) {
  const auto sorted = [&](const char* op, GradientFn gradient, const char* doc) {
    registry.Op(op).Shape(SortedShape).Gradient(gradient).Doc(doc);
  };
  sorted("SegmentSum", SegmentSumGradient, "Sums of the rows of each segment.");
  sorted("SegmentMean", SegmentMeanGradient, "Means of the rows of each segment.");
  sorted("SegmentProd", SegmentProdGradient, "Products of the rows of each segment.");
  sorted("SegmentMax", SegmentExtremumGradient, "The largest elements of each segment.");
  sorted("SegmentMin", SegmentExtremumGradient, "The smallest elements of each segment.");
  const auto unsorted = [&](const char* op, GradientFn gradient, const char* doc) {
    registry.Op(op).Shape(UnsortedShape).Gradient(gradient).Doc(doc);
  };
  unsorted("UnsortedSegmentSum", UnsortedSumGradient, "Sums of the rows with each number.");
  unsorted("UnsortedSegmentProd", SegmentProdGradient, "Products of the rows with each number.");
  unsorted("UnsortedSegmentMax", SegmentExtremumGradient, "The largest elements with each number.");
  unsorted("UnsortedSegmentMin", SegmentExtremumGradient,
           "The smallest elements with each number.");
}
