// SPDX-License-Identifier: Apache-2.0
// Inverses and linear systems.
#include "thalweg/graph/op_registry.h"
#include "thalweg/ops/linalg/matrix_shape.h"

namespace thalweg {
namespace {

// Gives [..., n, k] from a matrix [..., m, n] and right-hand sides [..., m, k]; `broadcast`:
// leading dimensions may differ.
Status SystemShape(ShapeContext& c, const PartialShape& matrix, bool broadcast) {
  ASSIGN_OR_RETURN(const PartialShape rhs, MatrixInput(c, 1));
  RETURN_IF_ERROR(Explained(MergeDims(RowsOf(matrix), RowsOf(rhs)).status(),
                            "Input matrix and rhs are incompatible: shapes ", matrix, " and ",
                            rhs));
  if (!matrix.known_rank() || !rhs.known_rank()) return OkStatus();
  const Result<PartialShape> leading =
      broadcast ? BroadcastShapes(WithLast(matrix, {}), WithLast(rhs, {}))
                : WithLast(matrix, {}).MergeWith(WithLast(rhs, {}));
  RETURN_IF_ERROR(Explained(leading.status(), "the leading dimensions disagree"));
  if (!leading->known_rank()) return OkStatus();
  Dims dims = leading->dims();
  dims.push_back(ColumnsOf(matrix));
  dims.push_back(ColumnsOf(rhs));
  c.set_output(0, PartialShape(dims));
  return OkStatus();
}

Status SolveShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape matrix, SquareInput(c, 0));
  return SystemShape(c, matrix, false);
}

Status TriangularSolveShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape matrix, SquareInput(c, 0));
  return SystemShape(c, matrix, true);
}

Status LeastSquaresShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(2, 0).status());
  ASSIGN_OR_RETURN(const PartialShape matrix, MatrixInput(c, 0));
  return SystemShape(c, matrix, false);
}

Status LuShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape shape, SquareInput(c, 0));
  c.set_output(0, shape);
  c.set_output(1, WithLast(shape, {RowsOf(shape)}));
  return OkStatus();
}

Status InverseGradient(GradientContext& c) {
  MatrixMath m(c);
  ASSIGN_OR_RETURN(const bool adjoint, c.node().Attr<bool>("adjoint"));
  const Output y = c.output(0), grad = c.grad(0);
  const Output product = adjoint ? m.Product(y, m.Product(grad, y, true, false))
                                 : m.Product(y, m.Product(grad, y, false, true), true);
  c.set_input_grad(0, m.Neg(product));
  return m.status();
}

// Of x = a^-1 b or a^-H b: b's gradient is `grad_rhs`; a's is minus one outer product.
Output MatrixGradient(MatrixMath& m, Output grad_rhs, Output x, bool adjoint) {
  return m.Neg(adjoint ? m.Product(x, grad_rhs, false, true) : m.Product(grad_rhs, x, false, true));
}

Status SolveGradient(GradientContext& c) {
  MatrixMath m(c);
  ASSIGN_OR_RETURN(const bool adjoint, c.node().Attr<bool>("adjoint"));
  const Output grad_rhs = m.Solve(c.input(0), c.grad(0), !adjoint);
  c.set_input_grad(0, MatrixGradient(m, grad_rhs, c.output(0), adjoint));
  c.set_input_grad(1, grad_rhs);
  return m.status();
}

Status TriangularSolveGradient(GradientContext& c) {
  MatrixMath m(c);
  ASSIGN_OR_RETURN(const bool adjoint, c.node().Attr<bool>("adjoint"));
  ASSIGN_OR_RETURN(const bool lower, c.node().Attr<bool>("lower"));
  const Output grad_rhs = m.Op("MatrixTriangularSolve", {c.input(0), c.grad(0)},
                               {{"lower", lower}, {"adjoint", !adjoint}});
  const Output full = MatrixGradient(m, grad_rhs, c.output(0), adjoint);
  m.SetLeadingBroadcast(lower ? m.Lower(full) : m.Upper(full), grad_rhs);
  return m.status();
}

// With a regular Gramian; which one depends on the shape of the matrices.
Status LeastSquaresGradient(GradientContext& c) {
  MatrixMath m(c);
  const Output a = c.input(0), b = c.input(1), x = c.output(0), grad = c.grad(0);
  if (!m.status().ok()) return m.status();
  const int64_t rows = RowsOf(a.shape()), columns = ColumnsOf(a.shape());
  if (rows < 0 || columns < 0) {
    return Unimplemented("the gradient of MatrixSolveLs needs to know rows and columns, got ",
                         a.shape());
  }
  const bool is_tall = rows >= columns;
  const Output gramian = m.Product(a, a, is_tall, !is_tall);
  const Output l2 = m.Op("Cast", {c.input(2)}, {{"DstT", a.dtype()}});
  const Output ones = m.Op("OnesLike", {m.DiagonalOf(gramian)});
  const Output regular = m.Add(gramian, m.Mul(l2, m.Diagonal(ones)));
  if (is_tall) {  // x = (a^H a + l2)^-1 a^H b
    const Output z = m.Solve(regular, grad, false);
    const Output both = m.Add(m.Product(x, z, false, true), m.Product(z, x, false, true));
    c.set_input_grad(0, m.Sub(m.Product(b, z, false, true), m.Product(a, both)));
    c.set_input_grad(1, m.Product(a, z));
  } else {  // x = a^H (a a^H + l2)^-1 b
    const Output grad_b = m.Solve(regular, m.Product(a, grad), false);
    const Output y = m.Solve(regular, b, false);
    const Output rest = m.Sub(grad, m.Product(a, grad_b, true));
    c.set_input_grad(
        0, m.Sub(m.Product(y, rest, false, true), m.Product(grad_b, m.Product(y, a, true))));
    c.set_input_grad(1, grad_b);
  }
  return m.status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(matrix_solve) {
  for (const char* op : {"MatrixInverse", "BatchMatrixInverse"}) {
    registry.Op(op)
        .Shape(SquareShape)
        .Gradient(InverseGradient)
        .Doc("Inverse of every matrix, or of its adjoint.");
  }
  for (const char* op : {"MatrixSolve", "BatchMatrixSolve"}) {
    registry.Op(op).Shape(SolveShape).Gradient(SolveGradient).Doc("Solves linear systems.");
  }
  for (const char* op : {"MatrixTriangularSolve", "BatchMatrixTriangularSolve"}) {
    registry.Op(op)
        .Shape(TriangularSolveShape)
        .Gradient(TriangularSolveGradient)
        .Doc("Solves triangular systems by substitution; leading dimensions broadcast.");
  }
  for (const char* op : {"MatrixSolveLs", "BatchMatrixSolveLs"}) {
    registry.Op(op)
        .Shape(LeastSquaresShape)
        .Gradient(LeastSquaresGradient)
        .Doc("Least squares solutions of linear systems.");
  }
  registry.Op("Lu")
      .Shape(LuShape)
      .NotDifferentiable("the derivative of the triangular factors is not implemented")
      .Doc("Triangular factors with the order of the rows.");
}
