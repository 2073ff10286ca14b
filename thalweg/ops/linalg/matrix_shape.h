// SPDX-License-Identifier: Apache-2.0
// Shape functions that operations on matrices share, and their vocabulary of gradients.
// Ownership: values; nodes belong to the graph.
// Threads: those of the context: one at a time.
// Errors: InvalidArgument for an input that is no matrix or not square; those of gradients stick in
// the builder.
#pragma once

#include <initializer_list>
#include <numeric>
#include <vector>

#include "thalweg/graph/gradient_math.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {

// Shape of input i, [..., rows, columns]; unknown rank stays unknown.
inline Result<PartialShape> MatrixInput(const ShapeContext& c, int i) {
  return c.InputWithRankAtLeast(i, 2);
}

inline Result<PartialShape> SquareInput(const ShapeContext& c, int i) {
  ASSIGN_OR_RETURN(PartialShape shape, MatrixInput(c, i));
  if (!shape.known_rank()) return shape;
  Dims dims = shape.dims();
  const int rank = shape.rank();
  const Result<int64_t> n = MergeDims(dims[rank - 2], dims[rank - 1]);
  RETURN_IF_ERROR(
      Explained(n.status(), "input ", i, " must be square matrices, got shape ", shape));
  dims[rank - 2] = dims[rank - 1] = *n;
  return PartialShape(dims);
}

// The dimensions of a matrix shape but the last two, then `last`.
inline PartialShape WithLast(const PartialShape& matrix, std::initializer_list<int64_t> last) {
  if (!matrix.known_rank()) return PartialShape::Unknown();
  Dims dims = matrix.dims();
  dims.resize(matrix.rank() - 2);
  for (int64_t dim : last) dims.push_back(dim);
  return PartialShape(dims);
}

// -1 when not known: rows and columns of a matrix shape.
inline int64_t RowsOf(const PartialShape& matrix) {
  return matrix.known_rank() ? matrix.dim(matrix.rank() - 2) : PartialShape::kUnknownDim;
}
inline int64_t ColumnsOf(const PartialShape& matrix) {
  return matrix.known_rank() ? matrix.dim(matrix.rank() - 1) : PartialShape::kUnknownDim;
}

// Output 0 is a matrix of the shape of the square input 0.
inline Status SquareShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape shape, SquareInput(c, 0));
  c.set_output(0, shape);
  return OkStatus();
}

// Matrix products and parts as nodes, for gradient functions.
class MatrixMath : public GradientMath {
 public:
  explicit MatrixMath(GradientContext& c) : GradientMath(c), c_(c), b_(c.b()) {}

  Output Product(Output a, Output b, bool adj_a = false, bool adj_b = false) {
    return Op("BatchMatMulV2", {a, b}, {{"adj_x", adj_a}, {"adj_y", adj_b}});
  }
  Output Solve(Output a, Output rhs, bool adjoint) {
    return Op("MatrixSolve", {a, rhs}, {{"adjoint", adjoint}});
  }
  // Conjugate transpose of the last two dimensions.
  Output Adjoint(Output a) {
    if (!b_.ok()) return Output();
    if (a.shape().known_rank()) {
      std::vector<int32_t> order(static_cast<size_t>(a.shape().rank()));
      std::iota(order.begin(), order.end(), 0);
      std::swap(order[order.size() - 2], order[order.size() - 1]);
      return Op("ConjugateTranspose", {a, Ints(order)});
    }
    const Output rank = Op("Rank", {a});
    const Output order = Op("Range", {Int(0), Sub(rank, Int(2)), Int(1)});
    const Output last = Op("Pack", {Sub(rank, Int(1)), Sub(rank, Int(2))}, {{"N", 2}});
    return Op("ConjugateTranspose", {a, Op("ConcatV2", {order, last, Int(0)}, {{"N", 2}})});
  }
  // Parts with the diagonal, zero elsewhere.
  Output Lower(Output a) { return Kept("LessEqual", a); }
  Output Upper(Output a) { return Kept("GreaterEqual", a); }
  Output OnlyDiagonal(Output a) { return Kept("Equal", a); }
  // The diagonal of square matrices, and square matrices from it.
  Output DiagonalOf(Output a) { return Op("Sum", {OnlyDiagonal(a), Int(-1)}); }
  Output Diagonal(Output vector) {
    const Output n = Size(vector, -1);
    return Where(Compare("Equal", n, n), Column(vector), Number(vector, 0));
  }
  Output Column(Output vector) { return Op("ExpandDims", {vector, Int(-1)}); }
  Output Row(Output vector) { return Op("ExpandDims", {vector, Int(-2)}); }
  // Scalars [...] against matrices [..., n, n].
  Output AsMatrices(Output scalars) { return Column(Column(scalars)); }
  // 1 / (x_j - x_i) off the diagonal, zero on it and where the two are equal.
  Output DifferencesReciprocal(Output x) {
    const Output difference = Sub(Row(x), Column(x));
    const Output is_zero = Op("Equal", {difference, Op("ZerosLike", {difference})});
    const Output safe = Where(is_zero, Op("OnesLike", {difference}), difference);
    return Where(is_zero, Op("ZerosLike", {difference}), Reciprocal(safe));
  }
  // For y = f(a, b) that repeats leading dimensions: gradients of inputs 0 and 1, summed over those
  // along which each was repeated.
  void SetLeadingBroadcast(Output grad0, Output grad1) {
    const Output x0 = c_.input(0), x1 = c_.input(1);
    if (!b_.ok()) return;
    if (x0.shape().known_rank() && x1.shape().known_rank() && x0.shape().rank() == 2 &&
        x1.shape().rank() == 2) {
      c_.set_input_grad(0, grad0);
      c_.set_input_grad(1, grad1);
      return;
    }
    Node* axes = b_.OpNode("BroadcastGradientArgs", {Leading(x0), Leading(x1)});
    c_.set_input_grad(0, Op("Reshape", {Op("Sum", {grad0, {axes, 0}}), Shape(x0)}));
    c_.set_input_grad(1, Op("Reshape", {Op("Sum", {grad1, {axes, 1}}), Shape(x1)}));
  }
  // The leading dimensions of a tensor of matrices as a vector.
  Output Leading(Output x) {
    return Op("StridedSlice", {Shape(x), Ints({0}), Ints({-2}), Ints({1})});
  }
  // Dimension `axis` (below zero) as a scalar, and 0, 1 ... up to a scalar.
  Output Size(Output x, int axis) {
    const bool is_last = axis == -1;
    return Op("StridedSlice", {Shape(x), Ints({axis}), Ints({is_last ? 0 : axis + 1}), Ints({1})},
              {{"shrink_axis_mask", 1}});
  }
  Output Count(Output n) { return Op("Range", {Int(0), n, Int(1)}); }
  Output Int(int32_t value) { return b_.Const(Tensor::Scalar(value)); }

 private:
  // How the column of every element of an [rows, columns] matrix compares with its row.
  Output Compare(std::string_view op, Output rows, Output columns) {
    return Op(op, {Row(Count(columns)), Column(Count(rows))});
  }
  Output Kept(std::string_view op, Output a) {
    return Where(Compare(op, Size(a, -2), Size(a, -1)), a, Number(a, 0));
  }

  GradientContext& c_;
  GraphBuilder& b_;
};

}  // namespace thalweg
