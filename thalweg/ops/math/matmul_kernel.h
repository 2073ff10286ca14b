// SPDX-License-Identifier: Apache-2.0
// From the attributes and operands of a matrix product to the shape that compute/ takes. Private to
// this family.
// Ownership: values.
// Threads: const members from any.
// Errors: InvalidArgument with both shapes, for operands that are no matrices or do not fit.
#pragma once

#include "thalweg/compute/gemm/gemm.h"
#include "thalweg/kernel/kernel_registry.h"

namespace thalweg {

struct MatMulAttrs {
  bool transpose_a = false;
  bool transpose_b = false;

  static Result<MatMulAttrs> Parse(const KernelConstruction& c) {
    MatMulAttrs attrs;
    ASSIGN_OR_RETURN(attrs.transpose_a, c.Attr<bool>("transpose_a"));
    ASSIGN_OR_RETURN(attrs.transpose_b, c.Attr<bool>("transpose_b"));
    return attrs;
  }

  Result<compute::GemmShape> ShapeOf(const Tensor& a, const Tensor& b) const {
    if (a.rank() != 2 || b.rank() != 2) {
      return InvalidArgument("In[", a.rank() != 2 ? 0 : 1, "] is not a matrix; a is ", a.shape(),
                             ", b is ", b.shape());
    }
    const int64_t m = a.dim(transpose_a ? 1 : 0), k = a.dim(transpose_a ? 0 : 1);
    const int64_t n = b.dim(transpose_b ? 0 : 1);
    if (b.dim(transpose_b ? 1 : 0) != k) {
      return InvalidArgument("Matrix size-incompatible: In[0]: ", a.shape(), ", In[1]: ", b.shape(),
                             "; inner dimensions differ: a is ", a.shape(),
                             transpose_a ? " transposed" : "", ", b is ", b.shape(),
                             transpose_b ? " transposed" : "");
    }
    using compute::Transpose;
    return compute::GemmShape::Dense(m, n, k, transpose_a ? Transpose::kYes : Transpose::kNo,
                                     transpose_b ? Transpose::kYes : Transpose::kNo);
  }
};

}  // namespace thalweg
