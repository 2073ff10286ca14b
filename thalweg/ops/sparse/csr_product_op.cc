// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/gradient_context.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

Status MatrixShape(ShapeContext& c) {
  for (int i = 0; i < c.num_inputs(); ++i) RETURN_IF_ERROR(c.InputWithRank(i, 0).status());
  c.set_output(0, PartialShape(Shape()));
  return OkStatus();
}

Status DenseProductShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 0).status());
  ASSIGN_OR_RETURN(const PartialShape b, c.InputWithRankAtLeast(1, 2));
  if (!b.known_rank()) return OkStatus();
  if (b.rank() > 3) return InvalidArgument("b must have rank 2 or 3, got shape ", b);
  ASSIGN_OR_RETURN(const bool transposed, c.Attr<bool>("transpose_b"));
  ASSIGN_OR_RETURN(const bool adjoint, c.Attr<bool>("adjoint_b"));
  ASSIGN_OR_RETURN(const bool turned, c.Attr<bool>("transpose_output"));
  const int64_t columns = b.dim(b.rank() - (transposed || adjoint ? 2 : 1));
  constexpr int64_t kUnknown = PartialShape::kUnknownDim;
  const int64_t first = turned ? columns : kUnknown, second = turned ? kUnknown : columns;
  c.set_output(0,
               b.rank() == 3 ? PartialShape{b.dim(0), first, second} : PartialShape{first, second});
  return OkStatus();
}

// How an argument of a product is turned.
struct Turned {
  bool transpose = false, adjoint = false;
  static Result<Turned> Of(const Node& node, char which) {
    Turned t;
    ASSIGN_OR_RETURN(t.transpose, node.Attr<bool>(StrCat("transpose_", std::string(1, which))));
    ASSIGN_OR_RETURN(t.adjoint, node.Attr<bool>(StrCat("adjoint_", std::string(1, which))));
    return t;
  }
  bool any() const { return transpose || adjoint; }
};

// Both arguments; what is transposed but not conjugated is only followed for real numbers.
Result<std::pair<Turned, Turned>> ArgumentsOf(const GradientContext& c, DType dtype) {
  ASSIGN_OR_RETURN(const Turned a, Turned::Of(c.node(), 'a'));
  ASSIGN_OR_RETURN(const Turned b, Turned::Of(c.node(), 'b'));
  if (IsComplex(dtype) && (a.transpose || b.transpose)) {
    return Unimplemented("the gradient of a product of transposed complex matrices");
  }
  return std::pair(a, b);
}

Status TransposeGradient(GradientContext& c) {
  ASSIGN_OR_RETURN(const bool conjugate, c.node().Attr<bool>("conjugate"));
  ASSIGN_OR_RETURN(const DType dtype, c.node().Attr<DType>("type"));
  c.set_input_grad(0, c.b().Op("SparseMatrixTranspose", {c.grad(0)},
                               {{"conjugate", conjugate}, {"type", dtype}}));
  return c.b().status();
}

// With C = A B: dA = dC B^H, dB = A^H dC; turned arguments change places.
Status SparseProductGradient(GradientContext& c) {
  ASSIGN_OR_RETURN(const DType dtype, c.node().Attr<DType>("type"));
  ASSIGN_OR_RETURN(const auto turned, ArgumentsOf(c, dtype));
  const bool ta = turned.first.any(), tb = turned.second.any();
  const Output a = c.input(0), b = c.input(1), g = c.grad(0);
  const auto product = [&](Output x, Output y, bool adjoint_x, bool adjoint_y) {
    return c.b().Op("SparseMatrixSparseMatMul", {x, y},
                    {{"type", dtype}, {"adjoint_a", adjoint_x}, {"adjoint_b", adjoint_y}});
  };
  c.set_input_grad(0, ta ? product(b, g, tb, true) : product(g, b, false, !tb));
  c.set_input_grad(1, tb ? product(g, a, true, ta) : product(a, g, !ta, false));
  return c.b().status();
}

// Rows of matrices, one for each value of a sparse matrix: by the value's row or by its column.
Output RowsOf(GradientContext& c, Output dense, Output places, int rank, bool by_column) {
  GraphBuilder& b = c.b();
  const auto columns = [&](int32_t from, int32_t count) {
    return b.Op("Slice", {places, b.Const<int32_t>({0, from}), b.Const<int32_t>({-1, count})});
  };
  Output at;
  if (!by_column) {
    at = columns(0, rank - 1);
  } else if (rank == 2) {
    at = columns(1, 1);
  } else {
    at = b.Op("ConcatV2", {columns(0, 1), columns(2, 1), b.ScalarConst(DType::kInt32, 1)},
              {{"N", int64_t{2}}});
  }
  return b.Op("GatherNd", {dense, at});
}

// With C = A B: dB = A^H dC, and of dA = dC B^H what lies where A has values.
Status DenseProductGradient(GradientContext& c) {
  const DType dtype = c.node().output_type(0);
  ASSIGN_OR_RETURN(const auto turned, ArgumentsOf(c, dtype));
  const bool ta = turned.first.any(), tb = turned.second.any();
  ASSIGN_OR_RETURN(const bool turned_output, c.node().Attr<bool>("transpose_output"));
  ASSIGN_OR_RETURN(const bool conjugated, c.node().Attr<bool>("conjugate_output"));
  const Output a = c.input(0), g = c.grad(0);
  const PartialShape& shape = c.input(1).node->output_shape(c.input(1).index);
  if (turned_output || conjugated || !shape.known_rank()) {
    return Unimplemented("the gradient of a product with turned output or of unknown rank");
  }
  GraphBuilder& b = c.b();
  c.set_input_grad(1, b.Op("SparseMatrixMatMul", {a, g},
                           {{"adjoint_a", !ta},
                            {"transpose_output", tb},
                            {"conjugate_output", tb && IsComplex(dtype)}}));
  Output dense = c.input(1);
  if (tb) {
    const std::vector<int32_t> perm =
        shape.rank() == 2 ? std::vector<int32_t>{1, 0} : std::vector<int32_t>{0, 2, 1};
    dense = b.Op("Transpose", {dense, b.Const(perm)});
    if (IsComplex(dtype)) dense = b.Op("Conj", {dense});
  }
  Node* places = b.OpNode("CSRSparseMatrixToSparseTensor", {a}, {{"type", dtype}});
  if (places == nullptr) return b.status();
  const Output indices{places, 0}, dense_shape{places, 2};
  const Output x = RowsOf(c, ta ? dense : g, indices, shape.rank(), false);
  Output y = RowsOf(c, ta ? g : dense, indices, shape.rank(), true);
  if (IsComplex(dtype)) y = b.Op("Conj", {y});
  const Output values = b.Op("Sum", {b.Op("Mul", {x, y}), b.Const<int32_t>({1})});
  c.set_input_grad(0, b.Op("SparseTensorToCSRSparseMatrix", {indices, values, dense_shape}));
  return b.status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(csr_product) {
  registry.Op("SparseMatrixTranspose")
      .Shape(MatrixShape)
      .Gradient(TransposeGradient)
      .Doc("A sparse matrix with rows for columns.");
  registry.Op("SparseMatrixMatMul")
      .Shape(DenseProductShape)
      .Gradient(DenseProductGradient)
      .Doc("The product of a sparse and a dense matrix.");
  registry.Op("SparseMatrixSparseMatMul")
      .Shape(MatrixShape)
      .Gradient(SparseProductGradient)
      .Doc("The product of two sparse matrices.");
}
