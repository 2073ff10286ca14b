// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/ops/linalg/matrix_shape.h"

namespace thalweg {
namespace {

// s^H x + x s^H = grad, as one linear system for the elements of x in the order of rows.
Status SquareRootGradient(GradientContext& c) {
  MatrixMath m(c);
  const Output s = c.output(0), grad = c.grad(0);
  const Output adjoint = m.Adjoint(s);
  const Output identity = m.Diagonal(m.Op("OnesLike", {m.DiagonalOf(s)}));
  const Output n = m.Op("StridedSlice", {m.Shape(s), m.Ints({-1}), m.Ints({0}), m.Ints({1})},
                        {{"end_mask", 1}, {"shrink_axis_mask", 0}});
  const Output elements = m.Mul(n, n);
  const Output leading = m.Leading(s);
  const auto kronecker = [&](Output a, Output b) {
    // [..., i, 1, j, 1] times [..., 1, k, 1, l]
    const Output left = m.Column(m.Op("ExpandDims", {a, m.Int(-2)}));
    const Output right = m.Op("ExpandDims", {m.Op("ExpandDims", {b, m.Int(-2)}), m.Int(-4)});
    const Output shape = m.Op("ConcatV2", {leading, elements, elements, m.Int(0)}, {{"N", 3}});
    return m.Op("Reshape", {m.Mul(left, right), shape});
  };
  const Output system = m.Add(kronecker(adjoint, identity), kronecker(identity, m.Conj(s)));
  const Output column = m.Op("ConcatV2", {leading, elements, m.Ints({1}), m.Int(0)}, {{"N", 3}});
  const Output x = m.Solve(system, m.Op("Reshape", {grad, column}), false);
  c.set_input_grad(0, m.Op("Reshape", {x, m.Shape(s)}));
  return m.status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(matrix_function) {
  registry.Op("MatrixSquareRoot")
      .Shape(SquareShape)
      .Gradient(SquareRootGradient)
      .Doc("Principal square root of every matrix; not a number where there is none.");
  registry.Op("MatrixExponential")
      .Shape(SquareShape)
      .NotDifferentiable("its derivative is not implemented")
      .Doc("Exponential of every matrix.");
  registry.Op("MatrixLogarithm")
      .Shape(SquareShape)
      .NotDifferentiable("its derivative is not implemented")
      .Doc("Principal logarithm of every matrix; not a number where there is none.");
}
