// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/gradient_context.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/ops/sparse/sparse_shape.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

constexpr int64_t kUnknown = PartialShape::kUnknownDim;

Status FillShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape indices, c.InputWithRank(0, 2));
  ASSIGN_OR_RETURN(const PartialShape values, c.InputWithRank(1, 1));
  ASSIGN_OR_RETURN(const PartialShape sizes, c.InputWithRank(2, 1));
  RETURN_IF_ERROR(c.InputWithRank(3, 0).status());
  RETURN_IF_ERROR(MergeDims(indices.dim(0), values.dim(0)).status());
  RETURN_IF_ERROR(MergeDims(indices.dim(1), sizes.dim(0)).status());
  const PartialShape shape = c.InputAsShape(2);
  c.set_output(0, PartialShape{kUnknown, SparseRank(c, 0)});
  c.set_output(1, PartialShape{kUnknown});
  c.set_output(2, PartialShape{shape.rank() > 0 ? shape.dim(0) : kUnknown});
  c.set_output(3, PartialShape{c.input(0).known_rank() ? c.input(0).dim(0) : kUnknown});
  return OkStatus();
}

Status RaggedFillShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape ids, c.InputWithRank(0, 1));
  ASSIGN_OR_RETURN(const PartialShape values, c.InputWithRank(1, 1));
  RETURN_IF_ERROR(c.InputWithRank(2, 0).status());
  RETURN_IF_ERROR(c.InputWithRank(3, 0).status());
  ASSIGN_OR_RETURN(const int64_t given, MergeDims(ids.dim(0), values.dim(0)));
  const Tensor rows = c.InputValue(2);
  if (!rows.empty() && IntAt(rows, 0) < 0) {
    return InvalidArgument("nrows must not be negative, got ", IntAt(rows, 0));
  }
  c.set_output(0, PartialShape{kUnknown});
  c.set_output(1, PartialShape{kUnknown});
  c.set_output(2, PartialShape{rows.empty() ? kUnknown : IntAt(rows, 0)});
  c.set_output(3, PartialShape{given});
  return OkStatus();
}

Status FillGradient(GradientContext& c) {
  if (!c.has_grad(1)) return OkStatus();
  Node* const grad = c.b().OpNode(c.node().op_name() + "Grad", {c.output(3), c.grad(1)});
  if (!c.b().ok()) return c.b().status();
  c.set_input_grad(1, Output{grad, 0});
  c.set_input_grad(3, Output{grad, 1});
  return OkStatus();
}

Status FillGradShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape map, c.InputWithRank(0, 1));
  RETURN_IF_ERROR(c.InputWithRank(1, 1).status());
  c.set_output(0, map);
  c.set_output(1, Shape());
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(sparse_fill) {
  registry.Op("RaggedFillEmptyRows")
      .Shape(RaggedFillShape)
      .Gradient(FillGradient)
      .Doc("A ragged tensor with a default value in each empty row.");
  registry.Op("RaggedFillEmptyRowsGrad")
      .Shape(FillGradShape)
      .NotDifferentiable("TensorFlow has no gradient of it either")
      .Doc("The gradient of RaggedFillEmptyRows.");
  registry.Op("SparseFillEmptyRows")
      .Shape(FillShape)
      .Gradient(FillGradient)
      .Doc("A sparse tensor with a default value in the first place of each empty row.");
  registry.Op("SparseFillEmptyRowsGrad")
      .Shape(FillGradShape)
      .NotDifferentiable("TensorFlow has no gradient of it either")
      .Doc("The gradient of SparseFillEmptyRows.");
}
