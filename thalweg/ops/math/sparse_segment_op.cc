// SPDX-License-Identifier: Apache-2.0
// Rows picked by index and combined by segment, in one pass (SparseSegmentSum, -Mean, -SqrtN: the
// sum over the root of the number of rows), and the gradients of these: dense, or (V2) as the rows
// that are not zero.
#include <string>

#include "thalweg/graph/gradient_math.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

// Input 0 with its first dimension replaced.
PartialShape WithRows(const PartialShape& data, int64_t rows) {
  if (!data.known_rank()) return PartialShape::Unknown();
  Dims dims = data.dims();
  dims[0] = rows;
  return PartialShape(dims);
}

Status CheckInputs(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRankAtLeast(0, 1).status());
  ASSIGN_OR_RETURN(const PartialShape indices, c.InputWithRank(1, 1));
  ASSIGN_OR_RETURN(const PartialShape ids, c.InputWithRank(2, 1));
  return Explained(indices.MergeWith(ids).status(),
                   "segment_ids and indices should have same size");
}

// The value of the scalar input 3; unknown when the graph does not fix it.
Result<int64_t> RowsOf(ShapeContext& c, const char* what) {
  RETURN_IF_ERROR(c.InputWithRank(3, 0).status());
  const Tensor value = c.InputValue(3);
  if (value.empty()) return PartialShape::kUnknownDim;
  const int64_t rows = IntAt(value, 0);
  if (rows < 0) return InvalidArgument(what, " must not be negative, got ", rows);
  return rows;
}

Status SegmentsShape(ShapeContext& c) {
  RETURN_IF_ERROR(CheckInputs(c));
  int64_t rows = PartialShape::kUnknownDim;
  if (c.num_inputs() == 4) {
    ASSIGN_OR_RETURN(rows, RowsOf(c, "num_segments"));
  }
  c.set_output(0, WithRows(c.input(0), rows));
  return OkStatus();
}

Status GradShape(ShapeContext& c) {
  RETURN_IF_ERROR(CheckInputs(c));
  ASSIGN_OR_RETURN(const int64_t rows, RowsOf(c, "output_dim0"));
  c.set_output(0, WithRows(c.input(0), rows));
  return OkStatus();
}

Status SparseGradShape(ShapeContext& c) {
  RETURN_IF_ERROR(CheckInputs(c));
  RETURN_IF_ERROR(RowsOf(c, "dense_output_dim0").status());
  c.set_output(0, WithRows(c.input(0), PartialShape::kUnknownDim));
  c.set_output(1, PartialShape{PartialShape::kUnknownDim});
  return OkStatus();
}

Status SparseSegmentGradient(GradientContext& c) {
  GradientMath m(c);
  ASSIGN_OR_RETURN(const bool sparse, c.node().Attr<bool>("sparse_gradient"));
  std::string op = c.node().op_name();
  op = op.substr(0, op.find("WithNumSegments")) + (sparse ? "GradV2" : "Grad");
  const Output shape = m.Shape(c.input(0));
  const Output rows = m.Op("StridedSlice", {shape, m.Ints({0}), m.Ints({1}), m.Ints({1})},
                           {{"shrink_axis_mask", int64_t{1}}});
  if (!m.status().ok()) return m.status();
  Node* grad = c.b().OpNode(op, {c.grad(0), c.input(1), c.input(2), rows});
  if (!m.status().ok()) return m.status();
  if (sparse) {
    c.set_input_grad(0, GradientValue{{grad, 0}, {grad, 1}, shape});
  } else {
    c.set_input_grad(0, Output{grad, 0});
  }
  return m.status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(sparse_segment) {
  struct Kind {
    std::string name;
    const char* doc;
  };
  for (const Kind& kind :
       {Kind{"SparseSegmentMean", "Means of picked rows by segment."},
        Kind{"SparseSegmentSqrtN", "Sums of picked rows over the root of their number."},
        Kind{"SparseSegmentSum", "Sums of picked rows by segment."}}) {
    for (const char* suffix : {"", "WithNumSegments"}) {
      registry.Op(kind.name + suffix)
          .Shape(SegmentsShape)
          .Gradient(SparseSegmentGradient)
          .Doc(kind.doc);
    }
    registry.Op(kind.name + "Grad")
        .Shape(GradShape)
        .NotDifferentiable("TensorFlow defines none")
        .Doc("The gradient of the operation of that name.");
    registry.Op(kind.name + "GradV2")
        .Shape(SparseGradShape)
        .NotDifferentiable("TensorFlow defines none")
        .Doc("The rows of the gradient that are not zero, and which they are.");
  }
}
