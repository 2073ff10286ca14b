// SPDX-License-Identifier: Apache-2.0
// What tests of sparse matrices share. The matrix of most: [[0, 1, 0, 0], [0, 0, 0, 0], [2, 0, 0,
// 3]].
#pragma once

#include <complex>

#include "thalweg/ops/sparse/test_sparse.h"

namespace thalweg {

inline Tensor FirstOutput(std::string_view op, const std::vector<Tensor>& inputs,
                          const AttrMap& attrs = {}) {
  Result<std::vector<Tensor>> made = RunOp(op, inputs, attrs);
  EXPECT_TRUE(made.ok()) << made.status().ToString();
  return made.ok() ? (*made)[0] : Tensor();
}

template <class T>
Tensor Csr(const std::vector<int64_t>& places, const std::vector<T>& values,
           const std::vector<int64_t>& shape) {
  const auto rank = static_cast<int64_t>(shape.size());
  return FirstOutput("SparseTensorToCSRSparseMatrix",
                     {Numbers<int64_t>(places, Shape{static_cast<int64_t>(values.size()), rank}),
                      Numbers<T>(values), Numbers<int64_t>(shape)});
}
inline Tensor OneCsr() { return Csr<float>({0, 1, 2, 0, 2, 3}, {1, 2, 3}, {3, 4}); }
inline Tensor TwoCsr() { return Csr<float>({0, 0, 1, 0, 2, 0, 1, 2, 3}, {1, 2, 3}, {2, 3, 4}); }
inline Tensor ComplexCsr() {
  using C = std::complex<float>;
  return Csr<C>({0, 1, 2, 0, 2, 3}, {C(1, 2), C(2, 4), C(3, 6)}, {3, 4});
}

template <class T>
void ExpectCsr(const Tensor& matrix, int32_t index, const std::vector<int32_t>& starts,
               const std::vector<int32_t>& places, const std::vector<T>& values) {
  ExpectOutputs("CSRSparseMatrixComponents", {matrix, Tensor::Scalar(index)},
                {{"type", kDTypeOf<T>}},
                {Numbers<int32_t>(starts), Numbers<int32_t>(places), Numbers<T>(values)});
}

}  // namespace thalweg
