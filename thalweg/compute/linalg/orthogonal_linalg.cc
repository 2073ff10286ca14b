// SPDX-License-Identifier: Apache-2.0
// QR and least squares. Compiled once per element type.
#include <Eigen/QR>

#include "thalweg/compute/linalg/eigen.h"

namespace thalweg::compute {
namespace {

using T = THALWEG_LINALG_TYPE;
using Matrix = ColumnMatrix<T>;

}  // namespace

template <>
LinalgResult Orthogonal<T>::LeastSquares(int64_t m, int64_t n, int64_t k, const void* a,
                                         const void* rhs, double l2, bool fast, void* out) {
  if (fast && m > 0 && n > 0 && k > 0) {
    return Factor<T>::NormalEquations(m, n, k, a, rhs, l2, out);
  }
  return Guarded([&] {
    if (n == 0 || k == 0) return true;
    auto x = Out<T>(out, n, k);
    if (m == 0) {
      x.setZero();
      return true;
    }
    const Matrix right = In<T>(rhs, m, k);
    const Matrix solution =
        ::Eigen::CompleteOrthogonalDecomposition<Matrix>(In<T>(a, m, n)).solve(right);
    x = solution;
    return true;
  });
}

template <>
LinalgResult Orthogonal<T>::Qr(int64_t m, int64_t n, const void* a, bool full, void* q, void* r) {
  return Guarded([&] {
    const int64_t small = std::min(m, n), p = full ? m : small;
    if (small == 0) {
      if (m > 0 && p > 0) Out<T>(q, m, p).setIdentity();
      return true;
    }
    // By rows, as the matrices come: by columns the small ones take a third longer.
    const ::Eigen::HouseholderQR<RowMatrix<T>> decomposed(In<T>(a, m, n));
    RowMatrix<T> identity = RowMatrix<T>::Identity(m, p);
    identity.applyOnTheLeft(decomposed.householderQ());
    Out<T>(q, m, p) = identity;
    auto upper = Out<T>(r, p, n);
    upper.setZero();
    upper.topRows(small) =
        decomposed.matrixQR().topRows(small).template triangularView<::Eigen::Upper>();
    return true;
  });
}

template struct Orthogonal<T>;

}  // namespace thalweg::compute
