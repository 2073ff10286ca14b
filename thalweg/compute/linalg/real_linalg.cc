// SPDX-License-Identifier: Apache-2.0
// Eigenvalues of real matrices by their real Schur form, and roots by way of complex matrices.
// Compiled once per real type.
#include <Eigen/Eigenvalues>
#include <cmath>

#include "thalweg/compute/linalg/finite.h"

namespace thalweg::compute {
namespace {

using T = THALWEG_LINALG_TYPE;
using Complex = std::complex<T>;
using Matrix = ColumnMatrix<T>;

}  // namespace

template <>
LinalgResult Spectral<T>::Eigen(int64_t n, const void* a, void* e, void* v) {
  return Guarded([&] {
    if (n == 0) return true;
    const auto matrix = In<T>(a, n, n);
    if (!matrix.allFinite()) return false;
    const ::Eigen::EigenSolver<Matrix> solver(matrix, v != nullptr);
    if (solver.info() != ::Eigen::Success) return false;
    Out<Complex>(e, n, 1) = solver.eigenvalues();
    if (v != nullptr) Out<Complex>(v, n, n) = solver.eigenvectors();
    return true;
  });
}

// The principal root is real when it exists.
template <>
LinalgResult Function<T>::SquareRoot(int64_t n, const void* a, void* out) {
  LinalgResult result = LinalgResult::kOk;
  const LinalgResult guarded = OfFinite<T>(n, a, out, [&](const auto& x, auto& y) {
    const RowMatrix<Complex> wide = x.template cast<Complex>();
    RowMatrix<Complex> root(n, n);
    result = Function<Complex>::SquareRoot(n, wide.data(), root.data());
    if (result != LinalgResult::kOk) return;
    const T noise = std::sqrt(std::numeric_limits<T>::epsilon());
    y = root.real();
    if (!(root.imag().cwiseAbs().maxCoeff() <= noise * root.cwiseAbs().maxCoeff())) {
      y.setConstant(NotANumber<T>());
    }
  });
  return guarded == LinalgResult::kOk ? result : guarded;
}

template <>
LinalgResult Function<T>::Logarithm(int64_t, const void*, void*) {
  return LinalgResult::kFailed;
}

}  // namespace thalweg::compute
