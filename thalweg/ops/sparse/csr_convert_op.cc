// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/gradient_context.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/ops/sparse/sparse_shape.h"

namespace thalweg {
namespace {

Status MakesMatrix(ShapeContext& c) {
  c.set_output(0, PartialShape(Shape()));
  return OkStatus();
}

Status DenseToCsrShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(1, 2).status());
  return MakesMatrix(c);
}

Status SparseToCsrShape(ShapeContext& c) {
  RETURN_IF_ERROR(CheckSparse(c, 0));
  return MakesMatrix(c);
}

Status CsrToDenseShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 0).status());
  return OkStatus();
}

Status CsrToSparseShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 0).status());
  SetSparseShapes(c, 0, -1);
  return OkStatus();
}

Status ComponentsShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 0).status());
  RETURN_IF_ERROR(c.InputWithRank(1, 0).status());
  for (int i = 0; i < 3; ++i) c.set_output(i, PartialShape{PartialShape::kUnknownDim});
  return OkStatus();
}

Status CountShape(ShapeContext& c) { return c.InputWithRank(0, 0).status(); }

Output Dense(GradientContext& c, Output matrix, DType dtype) {
  return c.b().Op("CSRSparseMatrixToDense", {matrix}, {{"type", dtype}});
}

// The gradient may have values where nothing was taken from: that of a product does.
Status DenseToCsrGradient(GradientContext& c) {
  const Output dense = Dense(c, c.grad(0), c.node().input_type(0));
  const Output taken = c.b().Op("GatherNd", {dense, c.input(1)});
  const Output shape = c.b().Op("Shape", {c.input(0)}, {{"out_type", DType::kInt64}});
  c.set_input_grad(0, c.b().Op("ScatterNd", {c.input(1), taken, shape}));
  return c.b().status();
}

Status SparseToCsrGradient(GradientContext& c) {
  const Output dense = Dense(c, c.grad(0), c.node().input_type(1));
  c.set_input_grad(1, c.b().Op("GatherNd", {dense, c.input(0)}));
  return c.b().status();
}

// The dense gradient where the matrix has values.
Status CsrToDenseGradient(GradientContext& c) {
  Node* places = c.b().OpNode("CSRSparseMatrixToSparseTensor", {c.input(0)},
                              {{"type", c.node().output_type(0)}});
  if (places == nullptr) return c.b().status();
  c.set_input_grad(0, c.b().Op("DenseToCSRSparseMatrix", {c.grad(0), Output{places, 0}}));
  return c.b().status();
}

Status CsrToSparseGradient(GradientContext& c) {
  if (!c.has_grad(1)) return OkStatus();
  c.set_input_grad(
      0, c.b().Op("SparseTensorToCSRSparseMatrix", {c.output(0), c.grad(1), c.output(2)}));
  return c.b().status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(csr_convert) {
  registry.Op("DenseToCSRSparseMatrix")
      .Shape(DenseToCsrShape)
      .Gradient(DenseToCsrGradient)
      .Doc("A sparse matrix of the values of a dense one at some places.");
  registry.Op("SparseTensorToCSRSparseMatrix")
      .Shape(SparseToCsrShape)
      .Gradient(SparseToCsrGradient)
      .Doc("A sparse matrix of a sparse tensor.");
  registry.Op("CSRSparseMatrixToDense")
      .Shape(CsrToDenseShape)
      .Gradient(CsrToDenseGradient)
      .Doc("The dense matrix of a sparse one.");
  registry.Op("CSRSparseMatrixToSparseTensor")
      .Shape(CsrToSparseShape)
      .Gradient(CsrToSparseGradient)
      .Doc("The sparse tensor of a sparse matrix.");
  registry.Op("CSRSparseMatrixComponents")
      .Shape(ComponentsShape)
      .NotDifferentiable("TensorFlow gives none either")
      .Doc("Starts of rows, columns and values of one matrix of a batch.");
  registry.Op("SparseMatrixNNZ")
      .Shape(CountShape)
      .NotDifferentiable("a count has no derivative")
      .Doc("How many values each sparse matrix has.");
}
