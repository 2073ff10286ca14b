// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/ops/linalg/matrix_shape.h"

namespace thalweg {
namespace {

Status BandedSolveShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape a, MatrixInput(c, 0));
  ASSIGN_OR_RETURN(const PartialShape rhs, MatrixInput(c, 1));
  const Result<int64_t> n = MergeDims(ColumnsOf(a), RowsOf(rhs));
  if (!n.ok()) {
    return InvalidArgument("Input matrix and rhs are incompatible: bands ", a.ToString(), ", rhs ",
                           rhs.ToString());
  }
  if (RowsOf(a) == 0) return InvalidArgument("there must be a band, got shape ", a.ToString());
  if (!a.known_rank() || !rhs.known_rank()) return OkStatus();
  const Result<PartialShape> leading = BroadcastShapes(WithLast(a, {}), WithLast(rhs, {}));
  RETURN_IF_ERROR(Explained(leading.status(), "the leading dimensions disagree"));
  if (!leading->known_rank()) return OkStatus();
  Dims dims = leading->dims();
  dims.push_back(*n);
  dims.push_back(ColumnsOf(rhs));
  c.set_output(0, PartialShape(dims));
  return OkStatus();
}

Status BandedSolveGradient(GradientContext& c) {
  MatrixMath m(c);
  ASSIGN_OR_RETURN(const bool adjoint, c.node().Attr<bool>("adjoint"));
  ASSIGN_OR_RETURN(const bool lower, c.node().Attr<bool>("lower"));
  const Output a = c.input(0), x = c.output(0);
  const Output grad_rhs =
      m.Op("BandedTriangularSolve", {a, c.grad(0)}, {{"lower", lower}, {"adjoint", !adjoint}});
  const Output full =
      m.Neg(adjoint ? m.Product(x, grad_rhs, false, true) : m.Product(grad_rhs, x, false, true));
  // The diagonals of the gradient, in the places in which the bands have them: of every band, the
  // one element of each row.
  const Output bands = m.Size(a, -2), n = m.Size(a, -1);
  const Output band = m.Column(m.Column(m.Count(bands)));
  const Output away = lower ? m.Neg(band) : m.Sub(m.Sub(bands, m.Int(1)), band);
  const Output column = m.Add(m.Column(m.Count(n)), away);
  const Output is_there = m.Op("Equal", {m.Row(m.Count(n)), column});
  const Output each = m.Op("ExpandDims", {full, m.Int(-3)});
  const Output diagonals = m.Op("Sum", {m.Where(is_there, each, m.Number(full, 0)), m.Int(-1)});
  m.SetLeadingBroadcast(diagonals, grad_rhs);
  return m.status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(banded_solve) {
  registry.Op("BandedTriangularSolve")
      .Shape(BandedSolveShape)
      .Gradient(BandedSolveGradient)
      .Doc("Solves triangular systems whose matrices are given by their diagonals.");
}
