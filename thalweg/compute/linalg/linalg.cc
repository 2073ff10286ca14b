// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/linalg/linalg.h"

#include "thalweg/compute/linalg/kernels.h"

namespace thalweg::compute {
namespace {

template <class T>
constexpr LinalgKernels kTable = {
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

}  // namespace

const LinalgKernels* LinalgKernelsOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat:
      return &kTable<float>;
    case DType::kDouble:
      return &kTable<double>;
    case DType::kComplex64:
      return &kTable<std::complex<float>>;
    case DType::kComplex128:
      return &kTable<std::complex<double>>;
    default:
      return nullptr;
  }
}

}  // namespace thalweg::compute
