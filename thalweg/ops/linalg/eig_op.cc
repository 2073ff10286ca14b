// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/ops/linalg/matrix_shape.h"

namespace thalweg {
namespace {

Status EigShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape a, SquareInput(c, 0));
  ASSIGN_OR_RETURN(const bool compute_v, c.Attr<bool>("compute_v"));
  c.set_output(0, WithLast(a, {RowsOf(a)}));
  c.set_output(1, compute_v ? a : PartialShape{0});
  return OkStatus();
}

// Eigenvalues in the first row, vectors below.
Status OldSelfAdjointShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape a, SquareInput(c, 0));
  const int64_t n = RowsOf(a);
  c.set_output(0, WithLast(a, {n < 0 ? n : n + 1, n}));
  return OkStatus();
}

// The vectors of the node, or of another that computes them.
Output Vectors(GradientContext& c, MatrixMath& m, const AttrMap& attrs) {
  if (*c.node().Attr<bool>("compute_v")) return c.output(1);
  Node* node = c.b().OpNode(c.node().op_name(), {c.input(0)}, attrs);
  return node == nullptr || !m.status().ok() ? Output() : Output{node, 1};
}

Status SelfAdjointGradient(GradientContext& c) {
  MatrixMath m(c);
  ASSIGN_OR_RETURN(const bool compute_v, c.node().Attr<bool>("compute_v"));
  const Output v = Vectors(c, m, {{"compute_v", true}});
  Output middle = m.Diagonal(c.grad(0));
  if (compute_v && c.has_grad(1)) {
    const Output f = m.DifferencesReciprocal(c.output(0));
    middle = m.Add(middle, m.Mul(m.Conj(f), m.Product(v, c.grad(1), true)));
  }
  const Output whole = m.Product(v, m.Product(middle, v, false, true));
  // The kernel reads the lower part only: an element below the diagonal stands for two.
  const Output both = m.Lower(m.Add(whole, m.Adjoint(whole)));
  c.set_input_grad(0, m.Sub(both, m.Scale(m.OnlyDiagonal(both), 0.5)));
  return m.status();
}

Status EigGradient(GradientContext& c) {
  MatrixMath m(c);
  ASSIGN_OR_RETURN(const bool compute_v, c.node().Attr<bool>("compute_v"));
  const Output v = Vectors(c, m, {{"compute_v", true}, {"Tout", c.node().output_type(0)}});
  Output middle = m.Diagonal(c.grad(0));
  if (compute_v && c.has_grad(1)) {
    // The vectors have unit length.
    const Output along = m.Product(v, c.grad(1), true);
    const Output real =
        m.Op("Cast",
             {m.Op("Real", {m.DiagonalOf(along)},
                   {{"Tout", c.node().output_type(0) == DType::kComplex64 ? DType::kFloat
                                                                          : DType::kDouble}})},
             {{"DstT", c.node().output_type(0)}});
    const Output rest = m.Sub(along, m.Product(v, m.Mul(v, m.Row(real)), true));
    middle = m.Add(middle, m.Mul(m.Conj(m.DifferencesReciprocal(c.output(0))), rest));
  }
  const Output vt = m.Adjoint(v);
  const Output whole = m.Solve(vt, m.Product(middle, vt), false);
  const DType type = c.node().input_type(0);
  if (IsComplex(type)) {
    c.set_input_grad(0, whole);
  } else {
    const DType part =
        c.node().output_type(0) == DType::kComplex64 ? DType::kFloat : DType::kDouble;
    c.set_input_grad(0, m.Op("Cast", {m.Op("Real", {whole}, {{"Tout", part}})}, {{"DstT", type}}));
  }
  return m.status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(eig) {
  registry.Op("Eig")
      .Shape(EigShape)
      .Gradient(EigGradient)
      .Doc("Eigenvalues and vectors of every matrix, in no particular order.");
  for (const char* op : {"SelfAdjointEigV2", "BatchSelfAdjointEigV2"}) {
    registry.Op(op)
        .Shape(EigShape)
        .Gradient(SelfAdjointGradient)
        .Doc("Eigenvalues, rising, and vectors of every self-adjoint matrix (its lower part).");
  }
  for (const char* op : {"SelfAdjointEig", "BatchSelfAdjointEig"}) {
    registry.Op(op)
        .Shape(OldSelfAdjointShape)
        .NotDifferentiable("SelfAdjointEigV2 has the gradient")
        .Doc("Eigenvalues in the first row, vectors below: the form before SelfAdjointEigV2.");
  }
}
