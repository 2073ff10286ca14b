// SPDX-License-Identifier: Apache-2.0
// Eigenvalues, roots and logarithms of complex matrices by their Schur form. Compiled once per
// complex type.
#include <Eigen/Eigenvalues>
#include <cmath>

#include "thalweg/compute/linalg/bordered.h"
#include "thalweg/compute/linalg/finite.h"

namespace thalweg::compute {
namespace {

using T = THALWEG_LINALG_TYPE;
using Real = ::Eigen::NumTraits<T>::Real;
using Matrix = ColumnMatrix<T>;

// x = u t u^H with unitary u and upper triangular t.
struct Schur {
  explicit Schur(const Matrix& x) {
    const ::Eigen::ComplexSchur<Matrix> schur(Bordered(x));
    t = schur.matrixT().bottomRightCorner(x.rows(), x.cols());
    u = schur.matrixU().bottomRightCorner(x.rows(), x.cols());
  }
  Matrix t, u;
};

// log(I + x) for a small upper triangular x: Gauss-Legendre quadrature of x (I + t x)^-1 over
// [0, 1], which is the [8/8] Pade approximant (Higham, "Functions of Matrices", 11.4).
Matrix LogOfNearIdentity(const Matrix& x) {
  constexpr double kNode[4] = {0.1834346424956498, 0.5255324099163290, 0.7966664774136267,
                               0.9602898564975363};
  constexpr double kWeight[4] = {0.3626837833783620, 0.3137066458778873, 0.2223810344533745,
                                 0.1012285362903763};
  const int64_t n = x.rows();
  Matrix sum = Matrix::Zero(n, n);
  for (int i = 0; i < 8; ++i) {
    const Real t = static_cast<Real>((1 + (i % 2 == 0 ? -1 : 1) * kNode[i / 2]) / 2);
    Matrix shifted = t * x;
    shifted.diagonal().array() += T(1);
    sum += static_cast<Real>(kWeight[i / 2] / 2) *
           shifted.template triangularView<::Eigen::Upper>().solve(x);
  }
  return sum;
}

// The root of an upper triangular matrix, column by column (Bjorck and Hammarling 1983).
Matrix RootOfTriangular(const Matrix& t) {
  const int64_t n = t.rows();
  Matrix root = Matrix::Zero(n, n);
  for (int64_t j = 0; j < n; ++j) {
    root(j, j) = std::sqrt(t(j, j));
    for (int64_t i = j - 1; i >= 0; --i) {
      T rest = t(i, j);
      for (int64_t k = i + 1; k < j; ++k) rest -= root(i, k) * root(k, j);
      if (rest != T(0)) rest /= root(i, i) + root(j, j);
      root(i, j) = rest;
    }
  }
  return root;
}

}  // namespace

template <>
LinalgResult Spectral<T>::Eigen(int64_t n, const void* a, void* e, void* v) {
  return Guarded([&] {
    if (n == 0) return true;
    const auto matrix = In<T>(a, n, n);
    if (!matrix.allFinite()) return false;
    const ::Eigen::ComplexEigenSolver<Matrix> solver(Bordered(Matrix(matrix)), v != nullptr);
    if (solver.info() != ::Eigen::Success) return false;
    Out<T>(e, n, 1) = solver.eigenvalues().tail(n);  // the border's, 0, comes first
    if (v != nullptr) Out<T>(v, n, n) = solver.eigenvectors().bottomRightCorner(n, n);
    return true;
  });
}

template <>
LinalgResult Function<T>::SquareRoot(int64_t n, const void* a, void* out) {
  return OfFinite<T>(n, a, out, [](const auto& x, auto& y) {
    const Schur schur(x);
    y = schur.u * RootOfTriangular(schur.t) * schur.u.adjoint();
  });
}

// Inverse scaling and squaring on the Schur form. The number of roots is bounded: a singular matrix
// never comes near the identity.
template <>
LinalgResult Function<T>::Logarithm(int64_t n, const void* a, void* out) {
  return OfFinite<T>(n, a, out, [n](const auto& x, auto& y) {
    constexpr int kMostRoots = 80;
    const Schur schur(x);
    Matrix t = schur.t;
    const auto logs = t.diagonal().array().log().eval();
    Matrix near = t - Matrix::Identity(n, n);
    int roots = 0;
    while (roots < kMostRoots && near.cwiseAbs().colwise().sum().maxCoeff() > Real(0.25)) {
      t = RootOfTriangular(t);
      near = t - Matrix::Identity(n, n);
      ++roots;
    }
    Matrix result = LogOfNearIdentity(near) * std::ldexp(Real(1), roots);
    result.diagonal() = logs;
    if (roots == kMostRoots) result.setConstant(NotANumber<T>());
    y = schur.u * result * schur.u.adjoint();
  });
}

}  // namespace thalweg::compute
