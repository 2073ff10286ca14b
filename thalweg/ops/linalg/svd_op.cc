// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "thalweg/graph/op_registry.h"
#include "thalweg/ops/linalg/matrix_shape.h"

namespace thalweg {
namespace {

Status SvdShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape a, MatrixInput(c, 0));
  ASSIGN_OR_RETURN(const bool compute_uv, c.Attr<bool>("compute_uv"));
  ASSIGN_OR_RETURN(const bool full, c.Attr<bool>("full_matrices"));
  const int64_t m = RowsOf(a), n = ColumnsOf(a);
  const int64_t small = m < 0 || n < 0 ? PartialShape::kUnknownDim : std::min(m, n);
  c.set_output(0, WithLast(a, {small}));
  c.set_output(1, compute_uv ? WithLast(a, {m, full ? m : small}) : PartialShape{0});
  c.set_output(2, compute_uv ? WithLast(a, {n, full ? n : small}) : PartialShape{0});
  return OkStatus();
}

// Thin or square factors (Townsend 2016). The phases of complex vectors are a choice, u's and v's
// the same: the gradient is that of functions that do not depend on it (Wan and Zhang 2019).
Status SvdGradient(GradientContext& c) {
  MatrixMath m(c);
  ASSIGN_OR_RETURN(const bool compute_uv, c.node().Attr<bool>("compute_uv"));
  ASSIGN_OR_RETURN(const bool full, c.node().Attr<bool>("full_matrices"));
  const Output a = c.input(0);
  if (!compute_uv) {  // the vectors are needed all the same
    Node* svd = c.b().OpNode("Svd", {a}, {{"compute_uv", true}});
    if (svd == nullptr) return m.status();
    c.set_input_grad(0, m.Product(m.Mul({svd, 1}, m.Row(c.grad(0))), {svd, 2}, false, true));
    return m.status();
  }
  if (full && (RowsOf(a.shape()) < 0 || RowsOf(a.shape()) != ColumnsOf(a.shape()))) {
    return Unimplemented(
        "the gradient of Svd with full_matrices of matrices that are not square, "
        "got ",
        a.shape());
  }
  const Output s = c.output(0), u = c.output(1), v = c.output(2);
  const Output grad_u = c.grad(1), grad_v = c.grad(2);
  const Output f = m.DifferencesReciprocal(m.Square(s));
  const auto turned = [&](Output basis, Output grad) {
    const Output product = m.Product(basis, grad, true);
    return m.Mul(f, m.Sub(product, m.Adjoint(product)));
  };
  const Output of_u = m.Mul(turned(u, grad_u), m.Row(s));
  const Output of_v = m.Mul(m.Column(s), turned(v, grad_v));
  Output inner = m.Add(of_u, of_v);
  if (IsComplex(a.dtype())) {
    // The values are real numbers and the vectors turn together.
    const Output half = m.Number(s, 0.5), turns = m.OnlyDiagonal(m.Product(v, grad_v, true));
    const Output of_s = m.Diagonal(m.Add(c.grad(0), m.Conj(c.grad(0))));
    const Output of_phase = m.Div(m.Sub(m.Conj(turns), turns), m.Row(s));
    inner = m.Add(inner, m.Mul(m.Add(of_s, of_phase), half));
  } else {
    inner = m.Add(inner, m.Diagonal(c.grad(0)));
  }
  // What of the factors' gradients lies outside the spaces that they span.
  const auto outside = [&](Output basis, Output grad) {
    return m.Div(m.Sub(grad, m.Product(basis, m.Product(basis, grad, true))), m.Row(s));
  };
  const Output left = m.Add(m.Product(u, inner), outside(u, grad_u));
  const Output whole =
      m.Add(m.Product(left, v, false, true), m.Product(u, outside(v, grad_v), false, true));
  c.set_input_grad(0, whole);
  return m.status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(svd) {
  for (const char* op : {"Svd", "BatchSvd"}) {
    registry.Op(op)
        .Shape(SvdShape)
        .Gradient(SvdGradient)
        .Doc("Singular values and vectors of every matrix.");
  }
}
