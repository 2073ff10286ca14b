// SPDX-License-Identifier: Apache-2.0
// Eigenvalues. Compiled once per element type.
#include <Eigen/Eigenvalues>
#include <type_traits>

#include "thalweg/compute/linalg/bordered.h"

namespace thalweg::compute {
namespace {

using T = THALWEG_LINALG_TYPE;
using Complex = std::complex<::Eigen::NumTraits<T>::Real>;
using Matrix = RowMatrix<T>;
using GeneralSolver =
    std::conditional_t<::Eigen::NumTraits<T>::IsComplex, ::Eigen::ComplexEigenSolver<Matrix>,
                       ::Eigen::EigenSolver<Matrix>>;

}  // namespace

template <>
LinalgResult Spectral<T>::SelfAdjointEigen(int64_t n, const void* a, void* e, void* v) {
  return Guarded([&] {
    if (n == 0) return true;
    const ::Eigen::SelfAdjointEigenSolver<Matrix> solver(
        In<T>(a, n, n), v != nullptr ? ::Eigen::ComputeEigenvectors : ::Eigen::EigenvaluesOnly);
    if (solver.info() != ::Eigen::Success || !solver.eigenvalues().allFinite()) return false;
    Out<T>(e, n, 1) = solver.eigenvalues().template cast<T>();
    if (v != nullptr) Out<T>(v, n, n) = solver.eigenvectors();
    return true;
  });
}

template <>
LinalgResult Spectral<T>::Eigen(int64_t n, const void* a, void* e, void* v) {
  return Guarded([&] {
    if (n == 0) return true;
    const auto matrix = In<T>(a, n, n);
    if (!matrix.allFinite()) return false;
    if constexpr (::Eigen::NumTraits<T>::IsComplex) {
      const GeneralSolver solver(Bordered(matrix), v != nullptr);
      if (solver.info() != ::Eigen::Success) return false;
      Out<Complex>(e, n, 1) = solver.eigenvalues().tail(n);  // the border's, 0, comes first
      if (v != nullptr) Out<Complex>(v, n, n) = solver.eigenvectors().bottomRightCorner(n, n);
    } else {
      const GeneralSolver solver(matrix, v != nullptr);
      if (solver.info() != ::Eigen::Success) return false;
      Out<Complex>(e, n, 1) = solver.eigenvalues();
      if (v != nullptr) Out<Complex>(v, n, n) = solver.eigenvectors();
    }
    return true;
  });
}

template struct Spectral<T>;

}  // namespace thalweg::compute
