// SPDX-License-Identifier: Apache-2.0
// Eigenvalues of self-adjoint matrices. Compiled once per element type.
#include <Eigen/Eigenvalues>

#include "thalweg/compute/linalg/eigen.h"

namespace thalweg::compute {
namespace {

using T = THALWEG_LINALG_TYPE;
using Matrix = ColumnMatrix<T>;

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

}  // namespace thalweg::compute
