// SPDX-License-Identifier: Apache-2.0
// Counts by bin: Bincount, DenseBincount, RaggedBincount, SparseBincount of small integers (those
// at or above `size` are passed over), HistogramFixedWidth of numbers.
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"
#include "thalweg/tensor/integers.h"
#include "thalweg/tensor/sparse_ranks.h"

namespace thalweg {
namespace {

// The value of the scalar input i, at least `least`; unknown when the graph does not fix it.
Result<int64_t> SizeAt(ShapeContext& c, int i, std::string_view what, int64_t least) {
  RETURN_IF_ERROR(c.InputWithRank(i, 0).status());
  const Tensor size = c.InputValue(i);
  if (size.empty()) return PartialShape::kUnknownDim;
  const int64_t value = IntAt(size, 0);
  if (value < least) return InvalidArgument(what, " must be at least ", least, ", got ", value);
  return value;
}

Status BincountShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const int64_t size, SizeAt(c, 1, "size", 0));
  c.set_output(0, PartialShape{size});
  return OkStatus();
}

Status DenseBincountShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const int64_t size, SizeAt(c, 1, "size", 0));
  const PartialShape& input = c.input(0);
  if (!input.known_rank()) return OkStatus();
  if (input.rank() > 2) {
    return InvalidArgument("input must be a vector or a matrix, got shape ", input.ToString());
  }
  c.set_output(0, input.rank() < 2 ? PartialShape{size} : PartialShape{input.dim(0), size});
  return OkStatus();
}

Status RaggedBincountShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const int64_t size, SizeAt(c, 2, "size", 0));
  ASSIGN_OR_RETURN(const PartialShape splits, c.InputWithRank(0, 1));
  const int64_t splits_count = splits.dim(0);
  if (splits_count == 0) return InvalidArgument("Splits must be non-empty");
  c.set_output(0, PartialShape{splits_count < 0 ? splits_count : splits_count - 1, size});
  return OkStatus();
}

Status SparseBincountShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const int64_t size, SizeAt(c, 3, "size", 0));
  RETURN_IF_ERROR(CheckSparseRanks(c.input(0).rank(), c.input(1).rank(), c.input(2).rank()));
  ASSIGN_OR_RETURN(const PartialShape dims, c.InputWithRank(2, 1));
  const int64_t rank = dims.dim(0);
  if (rank == PartialShape::kUnknownDim) return OkStatus();
  if (rank != 1 && rank != 2) {
    return InvalidArgument("dense_shape must have one or two elements, got ", rank);
  }
  const PartialShape dense = c.InputAsShape(2);
  const int64_t rows = dense.known_rank() ? dense.dim(0) : PartialShape::kUnknownDim;
  c.set_output(0, rank == 1 ? PartialShape{size} : PartialShape{rows, size});
  return OkStatus();
}

Status HistogramShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape range, c.InputWithRank(1, 1));
  if (!MergeDims(range.dim(0), 2).ok()) {
    return InvalidArgument("value_range must have two elements, got shape ", range.ToString());
  }
  ASSIGN_OR_RETURN(const int64_t bins, SizeAt(c, 2, "nbins", 1));
  c.set_output(0, PartialShape{bins});
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(bincount) {
  const auto add = [&](const char* op, ShapeFn shape, const char* doc) {
    registry.Op(op).Shape(shape).NotDifferentiable("counts have no derivatives").Doc(doc);
  };
  add("Bincount", BincountShape, "How often, or with what weight, each number occurs.");
  add("DenseBincount", DenseBincountShape, "How often each number occurs, for each row.");
  add("HistogramFixedWidth", HistogramShape, "How many values fall into each of equal intervals.");
  add("RaggedBincount", RaggedBincountShape,
      "How often each number occurs in each row of a ragged tensor.");
  add("SparseBincount", SparseBincountShape, "How often each number occurs in a sparse tensor.");
}
