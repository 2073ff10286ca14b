// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/ops/linalg/matrix_shape.h"

namespace thalweg {
namespace {

// A scalar per matrix, in every output.
Status PerMatrixShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape shape, SquareInput(c, 0));
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, WithLast(shape, {}));
  return OkStatus();
}

Output InverseAdjoint(MatrixMath& m, Output a) {
  return m.Op("MatrixInverse", {a}, {{"adjoint", true}});
}

Status DeterminantGradient(GradientContext& c) {
  MatrixMath m(c);
  const Output scale = m.Mul(c.grad(0), m.Conj(c.output(0)));
  c.set_input_grad(0, m.Mul(m.AsMatrices(scale), InverseAdjoint(m, c.input(0))));
  return m.status();
}

// The sign of a real determinant does not move; that of a complex one is not differentiated.
Status LogDeterminantGradient(GradientContext& c) {
  MatrixMath m(c);
  c.set_input_grad(0, m.Mul(m.AsMatrices(c.grad(1)), InverseAdjoint(m, c.input(0))));
  return m.status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(determinant) {
  registry.Op("MatrixDeterminant")
      .Shape(PerMatrixShape)
      .Gradient(DeterminantGradient)
      .Doc("Determinant of every matrix.");
  registry.Op("BatchMatrixDeterminant")
      .Shape(PerMatrixShape)
      .Gradient(DeterminantGradient)
      .Doc("The older name of MatrixDeterminant.");
  registry.Op("LogMatrixDeterminant")
      .Shape(PerMatrixShape)
      .Gradient(LogDeterminantGradient)
      .Doc("Sign and logarithm of the absolute value of every matrix's determinant.");
}
