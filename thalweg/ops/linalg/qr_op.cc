// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "thalweg/graph/op_registry.h"
#include "thalweg/ops/linalg/matrix_shape.h"

namespace thalweg {
namespace {

Status QrShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape a, MatrixInput(c, 0));
  ASSIGN_OR_RETURN(const bool full, c.Attr<bool>("full_matrices"));
  const int64_t m = RowsOf(a), n = ColumnsOf(a);
  const int64_t small = m < 0 || n < 0 ? PartialShape::kUnknownDim : std::min(m, n);
  const int64_t p = full ? m : small;
  c.set_output(0, WithLast(a, {m, p}));
  c.set_output(1, WithLast(a, {p, n}));
  return OkStatus();
}

// x r^-H
Output DivideByAdjoint(MatrixMath& m, Output x, Output r) {
  return m.Adjoint(m.Op("MatrixTriangularSolve", {r, m.Adjoint(x)}, {{"lower", false}}));
}

// The gradient of a = q r with r square (Walter and Lehmann 2012). Of complex matrices r's diagonal
// is real and stays so: what turns it goes into q, half of the diagonal below.
Output TallGradient(MatrixMath& m, Output q, Output r, Output grad_q, Output grad_r) {
  const Output qdq = m.Product(q, grad_q, true);
  const Output rdr = m.Product(r, grad_r, false, true);
  const Output anti_q = m.Sub(qdq, m.Adjoint(qdq));
  const Output anti_r = m.Sub(rdr, m.Adjoint(rdr));
  const Output below = m.Lower(m.Add(anti_q, anti_r));
  const Output half = m.Mul(m.OnlyDiagonal(below), m.Number(below, 0.5));
  const Output turned = m.Sub(below, half);
  const Output first = m.Product(q, m.Add(grad_r, DivideByAdjoint(m, turned, r)));
  const Output second = DivideByAdjoint(m, m.Sub(grad_q, m.Product(q, qdq)), r);
  return m.Add(first, second);
}

Status QrGradient(GradientContext& c) {
  MatrixMath m(c);
  ASSIGN_OR_RETURN(const bool full, c.node().Attr<bool>("full_matrices"));
  const Output a = c.input(0), q = c.output(0), r = c.output(1);
  // Where the shape is not known, tall or square matrices are expected; others fail in the step.
  const int64_t rows = RowsOf(a.shape()), columns = ColumnsOf(a.shape());
  const bool is_wide = rows >= 0 && columns >= 0 && rows < columns;
  if (full && columns >= 0 && rows > columns) {
    return Unimplemented("the gradient of Qr with full_matrices of more rows than columns, got ",
                         a.shape());
  }
  if (!is_wide) {
    c.set_input_grad(0, TallGradient(m, q, r, c.grad(0), c.grad(1)));
    return m.status();
  }
  // a = [x y] = q [u v]: x = q u is square, y = q v.
  const auto split = [&](Output whole, int part) {
    Node* parts = c.b().OpNode(
        "SplitV", {whole, c.b().Const(std::vector<int64_t>{rows, columns - rows}), m.Int(-1)},
        {{"num_split", 2}});
    return parts == nullptr ? Output() : Output{parts, part};
  };
  const Output y = split(a, 1), u = split(r, 0);
  const Output grad_u = split(c.grad(1), 0), grad_v = split(c.grad(1), 1);
  const Output grad_q = m.Add(c.grad(0), m.Product(y, grad_v, false, true));
  const Output grad_x = TallGradient(m, q, u, grad_q, grad_u);
  c.set_input_grad(0, m.Op("ConcatV2", {grad_x, m.Product(q, grad_v), m.Int(-1)}, {{"N", 2}}));
  return m.status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(qr) {
  registry.Op("Qr")
      .Shape(QrShape)
      .Gradient(QrGradient)
      .Doc("Orthogonal and upper triangular factors of every matrix.");
}
