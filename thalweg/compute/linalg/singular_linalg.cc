// SPDX-License-Identifier: Apache-2.0
// Singular values. Compiled once per element type.
#include <Eigen/SVD>

#include "thalweg/compute/linalg/eigen.h"

namespace thalweg::compute {
namespace {

using T = THALWEG_LINALG_TYPE;
using Matrix = RowMatrix<T>;

// A matrix without elements: bases of the whole space, or none.
void SetIdentity(int64_t m, int64_t n, bool full, void* u, void* v) {
  if (u == nullptr || !full) return;
  if (m > 0) Out<T>(u, m, m).setIdentity();
  if (n > 0) Out<T>(v, n, n).setIdentity();
}

}  // namespace

template <>
LinalgResult Singular<T>::Svd(int64_t m, int64_t n, const void* a, bool full, void* s, void* u,
                              void* v) {
  return Guarded([&] {
    const int64_t small = std::min(m, n);
    if (small == 0) {
      SetIdentity(m, n, full, u, v);
      return true;
    }
    const auto matrix = In<T>(a, m, n);
    if (!matrix.allFinite()) {
      Out<T>(s, 1, small).setConstant(NotANumber<T>());
      if (u != nullptr) {
        Out<T>(u, m, full ? m : small).setConstant(NotANumber<T>());
        Out<T>(v, n, full ? n : small).setConstant(NotANumber<T>());
      }
      return true;
    }
    unsigned options = 0;
    if (u != nullptr) {
      options = full ? ::Eigen::ComputeFullU | ::Eigen::ComputeFullV
                     : ::Eigen::ComputeThinU | ::Eigen::ComputeThinV;
    }
    const ::Eigen::BDCSVD<Matrix> svd(matrix, options);
    Out<T>(s, small, 1) = svd.singularValues().template cast<T>();
    if (u != nullptr) {
      Out<T>(u, m, full ? m : small) = svd.matrixU();
      Out<T>(v, n, full ? n : small) = svd.matrixV();
    }
    return true;
  });
}

template struct Singular<T>;

}  // namespace thalweg::compute
