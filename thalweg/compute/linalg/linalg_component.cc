// SPDX-License-Identifier: Apache-2.0
// libthalweg_linalg.so: Eigen behind the table of linalg_api.h. Opened by linalg.cc.
#include "thalweg/compute/linalg/kernels.h"
#include "thalweg/compute/linalg/linalg_api.h"
#include "thalweg/compute/linalg/look.h"

namespace thalweg::compute {
namespace {

template <class T>
constexpr LinalgKernels kKernels = {
    .cholesky = Factor<T>::Cholesky,
    .cholesky_gradient = Factor<T>::CholeskyGradient,
    .lu = Factor<T>::Lu,
    .determinant = Factor<T>::Determinant,
    .log_determinant = Factor<T>::LogDeterminant,
    .inverse = Factor<T>::Inverse,
    .solve = Factor<T>::Solve,
    .triangular_solve = Factor<T>::TriangularSolve,
    .least_squares = Orthogonal<T>::LeastSquares,
    .qr = Orthogonal<T>::Qr,
    .svd = Singular<T>::Svd,
    .self_adjoint_eigen = Spectral<T>::SelfAdjointEigen,
    .eigen = Spectral<T>::Eigen,
    .square_root = Function<T>::SquareRoot,
    .exponential = Function<T>::Exponential,
    .logarithm = Function<T>::Logarithm,
};
constexpr LinalgApi kApi = {
    .of_float = kKernels<float>,
    .of_double = kKernels<double>,
    .of_complex64 = kKernels<std::complex<float>>,
    .of_complex128 = kKernels<std::complex<double>>,
    .minimum_degree_order = Ordering::MinimumDegree,
};

}  // namespace
}  // namespace thalweg::compute

extern "C" __attribute__((visibility("default"))) const thalweg::compute::LinalgApi* thalweg_linalg(
    int version, thalweg::compute::LinalgCancelled cancelled) {
  if (version != thalweg::compute::kLinalgVersion) return nullptr;
  thalweg::compute::Looks::cancelled = cancelled;
  return &thalweg::compute::kApi;
}
