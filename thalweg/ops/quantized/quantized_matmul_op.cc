// SPDX-License-Identifier: Apache-2.0
#include "thalweg/ops/quantized/range_shape.h"

namespace thalweg {
namespace {

template <bool kBias>
Status ProductShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape a, c.InputWithRank(0, 2));
  ASSIGN_OR_RETURN(const PartialShape b, c.InputWithRank(1, 2));
  ASSIGN_OR_RETURN(const bool transpose_a, c.Attr<bool>("transpose_a"));
  ASSIGN_OR_RETURN(const bool transpose_b, c.Attr<bool>("transpose_b"));
  RETURN_IF_ERROR(
      Explained(MergeDims(a.dim(transpose_a ? 0 : 1), b.dim(transpose_b ? 1 : 0)).status(),
                "the inner dimensions of ", a, " and ", b, " differ"));
  int64_t columns = b.dim(transpose_b ? 0 : 1);
  if (kBias) {
    ASSIGN_OR_RETURN(const PartialShape bias, c.InputWithRank(2, 1));
    ASSIGN_OR_RETURN(columns, MergeDims(columns, bias.dim(0)));
  }
  RETURN_IF_ERROR(ScalarInputs(c, kBias ? 3 : 2, c.num_inputs() - (kBias ? 3 : 2)));
  c.set_output(0, PartialShape{a.dim(transpose_a ? 1 : 0), columns});
  ScalarOutputs(c, 1);
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(quantized_matmul) {
  registry.Op("QuantizedMatMul")
      .Shape(ProductShape<false>)
      .NotDifferentiable(kNotDifferentiable)
      .Doc("Product of two matrices of levels.");
  for (const char* op : {"QuantizedMatMulWithBias", "QuantizedMatMulWithBiasAndRelu"}) {
    registry.Op(op)
        .Shape(ProductShape<true>)
        .NotDifferentiable(kNotDifferentiable)
        .Doc("Product of two matrices of levels, with a bias.");
  }
  for (const char* op :
       {"QuantizedMatMulWithBiasAndRequantize", "QuantizedMatMulWithBiasAndReluAndRequantize"}) {
    registry.Op(op)
        .Shape(ProductShape<true>)
        .NotDifferentiable(kNotDifferentiable)
        .Doc("Product of two matrices of levels, with a bias, in a given range.");
  }
  registry.Op("QuantizedMatMulWithBiasAndDequantize")
      .Shape(ProductShape<true>)
      .NotDifferentiable(kNotDifferentiable)
      .Doc("The reals that a product of two matrices of levels, with a bias, stands for.");
}
