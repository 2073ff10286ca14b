// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/ops/linalg/matrix_shape.h"

namespace thalweg {
namespace {

Status CholeskyGradShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape l, SquareInput(c, 0));
  ASSIGN_OR_RETURN(const PartialShape grad, SquareInput(c, 1));
  ASSIGN_OR_RETURN(const PartialShape shape, l.MergeWith(grad));
  c.set_output(0, shape);
  return OkStatus();
}

// The kernel CholeskyGrad where it exists; the same formula as nodes for complex types.
Status CholeskyGradient(GradientContext& c) {
  MatrixMath m(c);
  const Output l = c.output(0), grad = c.grad(0);
  if (!m.status().ok()) return m.status();
  if (!IsComplex(l.dtype())) {
    c.set_input_grad(0, m.Op("CholeskyGrad", {l, grad}));
    return m.status();
  }
  const Output product = m.Lower(m.Product(l, m.Lower(grad), true));
  const Output middle = m.Sub(product, m.Scale(m.OnlyDiagonal(product), 0.5));
  const AttrMap adjoint = {{"lower", true}, {"adjoint", true}};
  const Output left = m.Op("MatrixTriangularSolve", {l, middle}, adjoint);
  const Output both = m.Op("MatrixTriangularSolve", {l, m.Adjoint(left)}, adjoint);
  c.set_input_grad(0, m.Scale(m.Add(both, m.Adjoint(both)), 0.5));
  return m.status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(cholesky) {
  registry.Op("Cholesky")
      .Shape(SquareShape)
      .Gradient(CholeskyGradient)
      .Doc(
          "Lower triangular l with l l^H the input; not a number where it is not positive "
          "definite.");
  registry.Op("BatchCholesky")
      .Shape(SquareShape)
      .Gradient(CholeskyGradient)
      .Doc("The older name of Cholesky.");
  for (const char* op : {"CholeskyGrad", "BatchCholeskyGrad"}) {
    registry.Op(op)
        .Shape(CholeskyGradShape)
        .NotDifferentiable("second derivatives of the Cholesky factor are not implemented")
        .Doc("Gradient of the input of Cholesky.");
  }
}
