// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/gradient_math.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/ops/sparse/sparse_shape.h"

namespace thalweg {
namespace {

Status ProductShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape indices, c.InputWithRank(0, 2));
  ASSIGN_OR_RETURN(const PartialShape values, c.InputWithRank(1, 1));
  RETURN_IF_ERROR(c.InputWithRank(2, 1).status());
  ASSIGN_OR_RETURN(const PartialShape b, c.InputWithRank(3, 2));
  RETURN_IF_ERROR(MergeDims(indices.dim(0), values.dim(0)).status());
  RETURN_IF_ERROR(MergeDims(indices.dim(1), 2).status());
  ASSIGN_OR_RETURN(const bool adjoint_a, c.Attr<bool>("adjoint_a"));
  ASSIGN_OR_RETURN(const bool adjoint_b, c.Attr<bool>("adjoint_b"));
  PartialShape a = c.InputAsShape(2);
  RETURN_IF_ERROR(CheckRank(a.rank(), 2));
  if (!a.known_rank()) a = PartialShape::OfRank(2);
  const int64_t inner_b = b.dim(adjoint_b ? 1 : 0);
  RETURN_IF_ERROR(MergeDims(a.dim(adjoint_a ? 0 : 1), inner_b).status());
  c.set_output(0, PartialShape{a.dim(adjoint_a ? 1 : 0), b.dim(adjoint_b ? 0 : 1)});
  return OkStatus();
}

// Each value of a gets the product of the two rows that it joined: of the gradient and of b.
Status ProductGradient(GradientContext& c) {
  GradientMath m(c);
  ASSIGN_OR_RETURN(const bool adjoint_a, c.node().Attr<bool>("adjoint_a"));
  ASSIGN_OR_RETURN(const bool adjoint_b, c.node().Attr<bool>("adjoint_b"));
  const auto swapped = [&](Output x) { return m.Conj(m.Op("Transpose", {x, m.Ints({1, 0})})); };
  const Output grad = c.grad(0);
  Output grad_b = m.Op("SparseTensorDenseMatMul", {c.input(0), c.input(1), c.input(2), grad},
                       {{"adjoint_a", !adjoint_a}});
  if (adjoint_b) grad_b = swapped(grad_b);
  c.set_input_grad(3, grad_b);
  const Output axis = m.Op("Const", {}, {{"value", Tensor::Scalar(1)}, {"dtype", DType::kInt32}});
  Node* const parts = c.b().OpNode("Split", {axis, c.input(0)}, {{"num_split", int64_t{2}}});
  if (!c.b().ok()) return c.b().status();
  const auto column = [&](int i) { return m.Op("Reshape", {Output{parts, i}, m.Ints({-1})}); };
  const Output zero = m.Op("Const", {}, {{"value", Tensor::Scalar(0)}, {"dtype", DType::kInt32}});
  const Output b = adjoint_b ? swapped(c.input(3)) : c.input(3);
  const Output rows_of_grad = m.Op("GatherV2", {grad, column(adjoint_a ? 1 : 0), zero});
  const Output rows_of_b = m.Op("GatherV2", {b, column(adjoint_a ? 0 : 1), zero});
  const Output products =
      adjoint_a ? m.Mul(m.Conj(rows_of_grad), rows_of_b) : m.Mul(rows_of_grad, m.Conj(rows_of_b));
  c.set_input_grad(1, m.Op("Sum", {products, m.Ints({1})}));
  return m.status();
}

Status CwiseShape(ShapeContext& c) {
  RETURN_IF_ERROR(CheckSparse(c, 0));
  ASSIGN_OR_RETURN(const PartialShape values, c.InputWithRank(1, 1));
  c.set_output(0, values);
  return OkStatus();
}

// The elements of the dense tensor, as far as it is repeated, at the places of the sparse one. Only
// the sparse operand and a dense one of full shape are differentiated.
Output DenseAtPlaces(GradientContext& c, GradientMath& m) {
  const Output repeated = m.Op("BroadcastTo", {c.input(3), c.input(2)}, {{"Tidx", DType::kInt64}});
  return m.Op("GatherNd", {repeated, c.input(0)});
}

// The dense operand's gradient: those of the places, summed over the dimensions along which it was
// repeated.
Output DenseGradient(GradientContext& c, GradientMath& m, Output at_places) {
  const Output all = m.Op("ScatterNd", {c.input(0), at_places, c.input(2)});
  const Output shape = m.Shape(c.input(3), DType::kInt64);
  Node* const axes = c.b().OpNode("BroadcastGradientArgs", {shape, c.input(2)});
  if (!c.b().ok()) return Output();
  return m.Op("Reshape", {m.Op("Sum", {all, Output{axes, 0}}), shape});
}

Status MulGradient(GradientContext& c) {
  GradientMath m(c);
  c.set_input_grad(1, m.Mul(c.grad(0), DenseAtPlaces(c, m)));
  c.set_input_grad(3, DenseGradient(c, m, m.Mul(c.grad(0), c.input(1))));
  return m.status();
}

Status DivGradient(GradientContext& c) {
  GradientMath m(c);
  const Output dense = DenseAtPlaces(c, m);
  c.set_input_grad(1, m.Div(c.grad(0), dense));
  const Output at_places = m.Neg(m.Mul(c.grad(0), m.Div(c.input(1), m.Square(dense))));
  c.set_input_grad(3, DenseGradient(c, m, at_places));
  return m.status();
}

Status AddGradient(GradientContext& c) {
  GradientMath m(c);
  c.set_input_grad(1, c.grad(0));
  c.set_input_grad(3, DenseGradient(c, m, c.grad(0)));
  return m.status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(sparse_dense) {
  registry.Op("SparseTensorDenseMatMul")
      .Shape(ProductShape)
      .Gradient(ProductGradient)
      .Doc("The product of a sparse and a dense matrix.");
  registry.Op("SparseDenseCwiseAdd")
      .Shape(CwiseShape)
      .Gradient(AddGradient)
      .Doc("The values of a sparse tensor plus what a dense one has at their places.");
  registry.Op("SparseDenseCwiseMul")
      .Shape(CwiseShape)
      .Gradient(MulGradient)
      .Doc("The values of a sparse tensor times what a dense one has at their places.");
  registry.Op("SparseDenseCwiseDiv")
      .Shape(CwiseShape)
      .Gradient(DivGradient)
      .Doc("The values of a sparse tensor divided by what a dense one has at their places.");
}
