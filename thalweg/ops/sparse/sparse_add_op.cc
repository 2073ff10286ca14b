// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/gradient_math.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/ops/sparse/sparse_shape.h"

namespace thalweg {
namespace {

Status SparseAddShape(ShapeContext& c) {
  RETURN_IF_ERROR(CheckSparse(c, 0));
  RETURN_IF_ERROR(CheckSparse(c, 3));
  RETURN_IF_ERROR(c.InputWithRank(6, 0).status());
  ASSIGN_OR_RETURN(const int64_t rank, MergeDims(SparseRank(c, 0), SparseRank(c, 3)));
  SetSparseShapes(c, 0, rank);
  return OkStatus();
}

Status SparseAddGradient(GradientContext& c) {
  if (!c.has_grad(1)) return OkStatus();
  Node* const grads =
      c.b().OpNode("SparseAddGrad", {c.grad(1), c.input(0), c.input(3), c.output(0)});
  if (!c.b().ok()) return c.b().status();
  c.set_input_grad(1, Output{grads, 0});
  c.set_input_grad(4, Output{grads, 1});
  return OkStatus();
}

Status SparseAddGradShape(ShapeContext& c) {
  for (int i = 0; i < 2; ++i) {
    ASSIGN_OR_RETURN(const PartialShape indices, c.InputWithRank(1 + i, 2));
    c.set_output(i, PartialShape{indices.dim(0)});
  }
  return OkStatus();
}

Status DenseAddShape(ShapeContext& c) {
  RETURN_IF_ERROR(CheckSparse(c, 0));
  c.set_output(0, c.input(3));
  return OkStatus();
}

Status DenseAddGradient(GradientContext& c) {
  c.set_input_grad(1, c.b().Op("GatherNd", {c.grad(0), c.input(0)}));
  c.set_input_grad(3, c.grad(0));
  return c.b().status();
}

Status ExtremeShape(ShapeContext& c) {
  RETURN_IF_ERROR(CheckSparse(c, 0));
  RETURN_IF_ERROR(CheckSparse(c, 3));
  ASSIGN_OR_RETURN(const int64_t rank, MergeDims(SparseRank(c, 0), SparseRank(c, 3)));
  c.set_output(0, PartialShape{PartialShape::kUnknownDim, rank});
  c.set_output(1, PartialShape{PartialShape::kUnknownDim});
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(sparse_add) {
  registry.Op("SparseAdd")
      .Shape(SparseAddShape)
      .Gradient(SparseAddGradient)
      .Doc("The sum of two sparse tensors, without what is smaller than a threshold.");
  registry.Op("SparseAddGrad")
      .Shape(SparseAddGradShape)
      .NotDifferentiable("TensorFlow has no gradient of it either")
      .Doc("The gradient of SparseAdd for the values of both.");
  registry.Op("SparseTensorDenseAdd")
      .Shape(DenseAddShape)
      .Gradient(DenseAddGradient)
      .Doc("The sum of a sparse and a dense tensor.");
  constexpr std::string_view kWhy = "TensorFlow gives none either";
  registry.Op("SparseSparseMaximum")
      .Shape(ExtremeShape)
      .NotDifferentiable(kWhy)
      .Doc("The larger of two sparse tensors, element by element.");
  registry.Op("SparseSparseMinimum")
      .Shape(ExtremeShape)
      .NotDifferentiable(kWhy)
      .Doc("The smaller of two sparse tensors, element by element.");
}
