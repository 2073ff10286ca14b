// SPDX-License-Identifier: Apache-2.0
// SparseMatMul: MatMul of float and bfloat16 matrices, with a hint that many elements may be zero.
#include "thalweg/graph/gradient_math.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

Status SparseMatMulShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape a, c.InputWithRank(0, 2));
  ASSIGN_OR_RETURN(const PartialShape b, c.InputWithRank(1, 2));
  ASSIGN_OR_RETURN(const bool ta, c.Attr<bool>("transpose_a"));
  ASSIGN_OR_RETURN(const bool tb, c.Attr<bool>("transpose_b"));
  const Result<int64_t> inner = MergeDims(a.dim(ta ? 0 : 1), b.dim(tb ? 1 : 0));
  RETURN_IF_ERROR(Explained(inner.status(), "inner dimensions differ: a is ", a,
                            ta ? " transposed" : "", ", b is ", b, tb ? " transposed" : ""));
  c.set_output(0, PartialShape{a.dim(ta ? 1 : 0), b.dim(tb ? 0 : 1)});
  return OkStatus();
}

struct Factor {
  Output value;
  bool transposed;
  bool sparse;
};

// The product, as `dtype`.
Output Product(GradientMath& m, const Factor& a, const Factor& b, DType dtype) {
  if (!m.status().ok()) return {};
  const Output product = m.Op("SparseMatMul", {a.value, b.value},
                              {{"transpose_a", a.transposed},
                               {"transpose_b", b.transposed},
                               {"a_is_sparse", a.sparse},
                               {"b_is_sparse", b.sparse}});
  return dtype == DType::kFloat ? product : m.Op("Cast", {product}, {{"DstT", dtype}});
}

Status SparseMatMulGradient(GradientContext& c) {
  GradientMath m(c);
  ASSIGN_OR_RETURN(const bool ta, c.node().Attr<bool>("transpose_a"));
  ASSIGN_OR_RETURN(const bool tb, c.node().Attr<bool>("transpose_b"));
  ASSIGN_OR_RETURN(const bool sa, c.node().Attr<bool>("a_is_sparse"));
  ASSIGN_OR_RETURN(const bool sb, c.node().Attr<bool>("b_is_sparse"));
  const Output a = c.input(0), b = c.input(1), grad = c.grad(0);
  const DType type_a = c.node().input_type(0), type_b = c.node().input_type(1);
  c.set_input_grad(0, ta ? Product(m, {b, tb, sb}, {grad, true, false}, type_a)
                         : Product(m, {grad, false, false}, {b, !tb, sb}, type_a));
  c.set_input_grad(1, tb ? Product(m, {grad, true, false}, {a, ta, sa}, type_b)
                         : Product(m, {a, !ta, sa}, {grad, false, false}, type_b));
  return m.status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(sparse_matmul) {
  registry.Op("SparseMatMul")
      .Shape(SparseMatMulShape)
      .Gradient(SparseMatMulGradient)
      .Doc("Product of two matrices of float or bfloat16, in float.");
}
