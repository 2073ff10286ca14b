// SPDX-License-Identifier: Apache-2.0
// QR and least squares. Compiled once per element type.
#include <Eigen/Cholesky>
#include <Eigen/QR>

#include "thalweg/compute/linalg/eigen.h"

namespace thalweg::compute {
namespace {

using T = THALWEG_LINALG_TYPE;
using Real = ::Eigen::NumTraits<T>::Real;
using Matrix = RowMatrix<T>;

}  // namespace

template <>
LinalgResult Orthogonal<T>::LeastSquares(int64_t m, int64_t n, int64_t k, const void* a,
                                         const void* rhs, double l2, bool fast, void* out) {
  return Guarded([&] {
    if (n == 0 || k == 0) return true;
    auto x = Out<T>(out, n, k);
    if (m == 0) {
      x.setZero();
      return true;
    }
    const auto matrix = In<T>(a, m, n);
    const auto right = In<T>(rhs, m, k);
    if (!fast) {
      x = ::Eigen::CompleteOrthogonalDecomposition<Matrix>(matrix).solve(right);
      return true;
    }
    // The smaller of the two Gramians.
    const bool is_tall = m >= n;
    Matrix gramian;
    if (is_tall) {
      gramian.noalias() = matrix.adjoint() * matrix;
    } else {
      gramian.noalias() = matrix * matrix.adjoint();
    }
    gramian.diagonal().array() += T(static_cast<Real>(l2));
    const ::Eigen::LLT<Matrix> llt(gramian);
    if (llt.info() != ::Eigen::Success) return false;
    if (is_tall) {
      x.noalias() = matrix.adjoint() * right;
      llt.solveInPlace(x);
    } else {
      Matrix y = right;
      llt.solveInPlace(y);
      x.noalias() = matrix.adjoint() * y;
    }
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
    const ::Eigen::HouseholderQR<Matrix> decomposed(In<T>(a, m, n));
    Matrix identity = Matrix::Identity(m, p);
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
