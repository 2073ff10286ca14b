// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/ops/linalg/matrix_shape.h"

namespace thalweg {
namespace {

// What systems with diagonals [..., rows, n] give for right-hand sides [..., n, k]: their shape.
Result<PartialShape> SystemsShape(const PartialShape& diagonals, int64_t rows,
                                  const PartialShape& rhs) {
  const Result<PartialShape> batch = WithLast(diagonals, {}).MergeWith(WithLast(rhs, {}));
  RETURN_IF_ERROR(
      Explained(batch.status(), "the batches of diagonals ", diagonals, " and rhs ", rhs));
  const Result<int64_t> n = MergeDims(ColumnsOf(diagonals), RowsOf(rhs));
  RETURN_IF_ERROR(
      Explained(n.status(), "the columns of diagonals ", diagonals, " are the rows of rhs ", rhs));
  RETURN_IF_ERROR(
      Explained(CheckDim(RowsOf(diagonals), rows), "the rows of diagonals ", diagonals));
  return batch->Concatenate(PartialShape{*n, ColumnsOf(rhs)});
}

Status TridiagonalSolveShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape diagonals, MatrixInput(c, 0));
  ASSIGN_OR_RETURN(const PartialShape rhs, MatrixInput(c, 1));
  ASSIGN_OR_RETURN(const PartialShape out, SystemsShape(diagonals, 3, rhs));
  c.set_output(0, out);
  return OkStatus();
}

Status TridiagonalMatMulShape(ShapeContext& c) {
  for (int i = 0; i < 4; ++i) RETURN_IF_ERROR(MatrixInput(c, i).status());
  // TensorFlow names the main diagonal behind the other ones.
  ASSIGN_OR_RETURN(PartialShape diagonal, c.input(0).MergeWith(c.input(1)));
  ASSIGN_OR_RETURN(diagonal, c.input(2).MergeWith(diagonal));
  ASSIGN_OR_RETURN(PartialShape out, SystemsShape(diagonal, 1, c.input(3)));
  c.set_output(0, std::move(out));
  return OkStatus();
}

// Moves the elements of the last dimension but `behind` by one place and puts a zero in: towards
// the front (`by` = 1: element i is what i + 1 was) or the back (-1).
Output Shifted(MatrixMath& m, Output x, int by, int behind) {
  const auto cut = [&](int begin, int end) {  // end 0: to the end
    std::vector<int32_t> begins = {0, begin}, ends = {0, end}, steps = {1, 1};
    for (int i = 0; i < behind; ++i) {
      begins.push_back(0);
      ends.push_back(0);
      steps.push_back(1);
    }
    int end_mask = end == 0 ? 2 : 0, begin_mask = 0;
    for (int i = 0; i < behind; ++i) {
      begin_mask |= 4 << i;
      end_mask |= 4 << i;
    }
    return m.Op("StridedSlice", {x, m.Ints(begins), m.Ints(ends), m.Ints(steps)},
                {{"ellipsis_mask", 1}, {"begin_mask", begin_mask}, {"end_mask", end_mask}});
  };
  const Output kept = by > 0 ? cut(1, 0) : cut(0, -1);
  const Output zero = m.Op("ZerosLike", {cut(0, 1)});
  const Output axis = m.Int(-1 - behind);
  return by > 0 ? m.Op("ConcatV2", {kept, zero, axis}, {{"N", 2}})
                : m.Op("ConcatV2", {zero, kept, axis}, {{"N", 2}});
}

// Sums over the right-hand sides of a conj(b): [..., n].
Output Outer(MatrixMath& m, Output a, Output b) {
  return m.Op("Sum", {m.Mul(a, m.Conj(b)), m.Int(-1)});
}

Status TridiagonalSolveGradient(GradientContext& c) {
  MatrixMath m(c);
  ASSIGN_OR_RETURN(const bool pivoting, c.node().Attr<bool>("partial_pivoting"));
  ASSIGN_OR_RETURN(const bool perturb, c.node().Attr<bool>("perturb_singular"));
  const Output x = c.output(0);
  Node* rows = c.b().OpNode("Unpack", {c.input(0)}, {{"num", 3}, {"axis", -2}});
  if (rows == nullptr) return m.status();
  const Output super{rows, 0}, main{rows, 1}, sub{rows, 2};
  // The adjoint matrix by diagonals.
  const Output adjoint =
      m.Op("Pack", {m.Conj(Shifted(m, sub, 1, 0)), m.Conj(main), m.Conj(Shifted(m, super, -1, 0))},
           {{"N", 3}, {"axis", -2}});
  const Output grad_rhs = m.Op("TridiagonalSolve", {adjoint, c.grad(0)},
                               {{"partial_pivoting", pivoting}, {"perturb_singular", perturb}});
  const Output of_super = Outer(m, grad_rhs, Shifted(m, x, 1, 1));
  const Output of_sub = Outer(m, grad_rhs, Shifted(m, x, -1, 1));
  c.set_input_grad(
      0, m.Neg(m.Op("Pack", {of_super, Outer(m, grad_rhs, x), of_sub}, {{"N", 3}, {"axis", -2}})));
  c.set_input_grad(1, grad_rhs);
  return m.status();
}

Status TridiagonalMatMulGradient(GradientContext& c) {
  MatrixMath m(c);
  const Output x = c.input(3), grad = c.grad(0);
  c.set_input_grad(0, m.Row(Outer(m, grad, Shifted(m, x, 1, 1))));
  c.set_input_grad(1, m.Row(Outer(m, grad, x)));
  c.set_input_grad(2, m.Row(Outer(m, grad, Shifted(m, x, -1, 1))));
  // The adjoint's diagonals, on the left and right of the main one.
  c.set_input_grad(
      3, m.Op("TridiagonalMatMul", {m.Conj(Shifted(m, c.input(2), 1, 0)), m.Conj(c.input(1)),
                                    m.Conj(Shifted(m, c.input(0), -1, 0)), grad}));
  return m.status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(tridiagonal) {
  registry.Op("TridiagonalSolve")
      .Shape(TridiagonalSolveShape)
      .Gradient(TridiagonalSolveGradient)
      .Doc("Solves tridiagonal systems; not a number where one is singular.");
  registry.Op("TridiagonalMatMul")
      .Shape(TridiagonalMatMulShape)
      .Gradient(TridiagonalMatMulGradient)
      .Doc("Product of tridiagonal matrices with matrices.");
}
