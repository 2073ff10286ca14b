// SPDX-License-Identifier: Apache-2.0
// Singular values of real matrices. Compiled once per real type.
#include <Eigen/SVD>

#include "thalweg/compute/linalg/singular.h"

namespace thalweg::compute {
namespace {

using T = THALWEG_LINALG_TYPE;
using Matrix = ColumnMatrix<T>;

}  // namespace

template <>
LinalgResult Singular<T>::Svd(int64_t m, int64_t n, const void* a, bool full, void* s, void* u,
                              void* v) {
  return Guarded([&] {
    if (HasPlainSvd<T>(m, n, a, full, s, u, v)) return true;
    const int64_t small = std::min(m, n);
    unsigned options = 0;
    if (u != nullptr) {
      options = full ? ::Eigen::ComputeFullU | ::Eigen::ComputeFullV
                     : ::Eigen::ComputeThinU | ::Eigen::ComputeThinV;
    }
    const ::Eigen::BDCSVD<Matrix> svd(In<T>(a, m, n), options);
    Out<T>(s, small, 1) = svd.singularValues();
    if (u != nullptr) {
      Out<T>(u, m, full ? m : small) = svd.matrixU();
      Out<T>(v, n, full ? n : small) = svd.matrixV();
    }
    return true;
  });
}

}  // namespace thalweg::compute
