// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/gradient_math.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/ops/math/matmul_shape.h"

namespace thalweg {
namespace {

Status MatMulGradient(GradientContext& c) {
  GradientMath m(c);
  ASSIGN_OR_RETURN(const bool ta, c.node().Attr<bool>("transpose_a"));
  ASSIGN_OR_RETURN(const bool tb, c.node().Attr<bool>("transpose_b"));
  const Output a = m.Conj(c.input(0)), b = m.Conj(c.input(1)), grad = c.grad(0);
  const auto product = [&](Output x, Output y, bool tx, bool ty) {
    return m.Op("MatMul", {x, y}, {{"transpose_a", tx}, {"transpose_b", ty}});
  };
  c.set_input_grad(0, ta ? product(b, grad, tb, true) : product(grad, b, false, !tb));
  c.set_input_grad(1, tb ? product(grad, a, true, ta) : product(a, grad, !ta, false));
  return m.status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(matmul) {
  registry.Op("MatMul")
      .Shape(MatMulShape)
      .Gradient(MatMulGradient)
      .Doc("The product of two matrices, each transposed on demand.");
}
