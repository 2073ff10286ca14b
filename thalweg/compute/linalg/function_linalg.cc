// SPDX-License-Identifier: Apache-2.0
// Functions of a matrix. Compiled once per element type.
#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>

#include "thalweg/compute/linalg/bordered.h"

namespace thalweg::compute {
namespace {

using T = THALWEG_LINALG_TYPE;
using Real = ::Eigen::NumTraits<T>::Real;
using Complex = std::complex<Real>;
using Matrix = RowMatrix<T>;
using ComplexMatrix = ::Eigen::Matrix<Complex, ::Eigen::Dynamic, ::Eigen::Dynamic>;

// f: the answer from a finite matrix.
template <class F>
LinalgResult OfFinite(int64_t n, const void* a, void* out, F&& f) {
  return Guarded([&] {
    if (n == 0) return true;
    auto result = Out<T>(out, n, n);
    if (In<T>(a, n, n).allFinite()) {
      f(In<T>(a, n, n), result);
    } else {
      result.setConstant(NotANumber<T>());
    }
    return true;
  });
}

// x = u t u^H with unitary u and upper triangular t.
struct Schur {
  explicit Schur(const ComplexMatrix& x) {
    const ::Eigen::ComplexSchur<ComplexMatrix> schur(Bordered(x));
    t = schur.matrixT().bottomRightCorner(x.rows(), x.cols());
    u = schur.matrixU().bottomRightCorner(x.rows(), x.cols());
  }
  ComplexMatrix t, u;
};

// log(I + x) for a small upper triangular x: Gauss-Legendre quadrature of x (I + t x)^-1 over
// [0, 1], which is the [8/8] Pade approximant (Higham, "Functions of Matrices", 11.4).
ComplexMatrix LogOfNearIdentity(const ComplexMatrix& x) {
  constexpr double kNode[4] = {0.1834346424956498, 0.5255324099163290, 0.7966664774136267,
                               0.9602898564975363};
  constexpr double kWeight[4] = {0.3626837833783620, 0.3137066458778873, 0.2223810344533745,
                                 0.1012285362903763};
  const int64_t n = x.rows();
  ComplexMatrix sum = ComplexMatrix::Zero(n, n);
  for (int i = 0; i < 8; ++i) {
    const Real t = static_cast<Real>((1 + (i % 2 == 0 ? -1 : 1) * kNode[i / 2]) / 2);
    ComplexMatrix shifted = t * x;
    shifted.diagonal().array() += Complex(1);
    sum += static_cast<Real>(kWeight[i / 2] / 2) *
           shifted.template triangularView<::Eigen::Upper>().solve(x);
  }
  return sum;
}

// The root of an upper triangular matrix, column by column (Bjorck and Hammarling 1983).
ComplexMatrix RootOfTriangular(const ComplexMatrix& t) {
  const int64_t n = t.rows();
  ComplexMatrix root = ComplexMatrix::Zero(n, n);
  for (int64_t j = 0; j < n; ++j) {
    root(j, j) = std::sqrt(t(j, j));
    for (int64_t i = j - 1; i >= 0; --i) {
      Complex rest = t(i, j);
      for (int64_t k = i + 1; k < j; ++k) rest -= root(i, k) * root(k, j);
      if (rest != Complex(0)) rest /= root(i, i) + root(j, j);
      root(i, j) = rest;
    }
  }
  return root;
}

}  // namespace

// Through the complex Schur form, for real matrices too: their principal root is real when it
// exists.
template <>
LinalgResult Function<T>::SquareRoot(int64_t n, const void* a, void* out) {
  return OfFinite(n, a, out, [](const auto& x, auto& y) {
    const Schur schur(x.template cast<Complex>());
    const ComplexMatrix root = schur.u * RootOfTriangular(schur.t) * schur.u.adjoint();
    if constexpr (::Eigen::NumTraits<T>::IsComplex) {
      y = root;
    } else {
      const Real noise = std::sqrt(std::numeric_limits<Real>::epsilon());
      y = root.real();
      if (!(root.imag().cwiseAbs().maxCoeff() <= noise * root.cwiseAbs().maxCoeff())) {
        y.setConstant(NotANumber<T>());
      }
    }
  });
}

// Scaling and squaring with the [13/13] Pade approximant (Higham 2005).
template <>
LinalgResult Function<T>::Exponential(int64_t n, const void* a, void* out) {
  return OfFinite(n, a, out, [n](const auto& x, auto& y) {
    static constexpr double kPade[14] = {64764752532480000.,
                                         32382376266240000.,
                                         7771770303897600.,
                                         1187353796428800.,
                                         129060195264000.,
                                         10559470521600.,
                                         670442572800.,
                                         33522128640.,
                                         1323241920.,
                                         40840800.,
                                         960960.,
                                         16380.,
                                         182.,
                                         1.};
    const Real norm = x.cwiseAbs().colwise().sum().maxCoeff();
    int squarings = 0;
    std::frexp(norm / Real(4.25), &squarings);
    squarings = std::max(squarings, 0);
    const Matrix scaled = x * std::ldexp(Real(1), -squarings);
    const Matrix square = scaled * scaled;
    Matrix odd = Matrix::Zero(n, n), even = Matrix::Zero(n, n);
    for (int k = 12; k >= 0; k -= 2) {  // Horner, in the square
      odd = (odd * square).eval();
      even = (even * square).eval();
      odd.diagonal().array() += T(static_cast<Real>(kPade[k + 1] / kPade[0]));
      even.diagonal().array() += T(static_cast<Real>(kPade[k] / kPade[0]));
    }
    odd = (scaled * odd).eval();
    Matrix power = ::Eigen::PartialPivLU<Matrix>(even - odd).solve(even + odd);
    for (int k = 0; k < squarings; ++k) power = (power * power).eval();
    y = power;
  });
}

// Inverse scaling and squaring on the Schur form. The number of roots is bounded: a singular matrix
// never comes near the identity.
template <>
LinalgResult Function<T>::Logarithm(int64_t n, const void* a, void* out) {
  if constexpr (!::Eigen::NumTraits<T>::IsComplex) {
    return LinalgResult::kFailed;
  } else {
    return OfFinite(n, a, out, [n](const auto& x, auto& y) {
      constexpr int kMostRoots = 80;
      const Schur schur(x);
      ComplexMatrix t = schur.t;
      const auto logs = t.diagonal().array().log().eval();
      ComplexMatrix near = t - ComplexMatrix::Identity(n, n);
      int roots = 0;
      while (roots < kMostRoots && near.cwiseAbs().colwise().sum().maxCoeff() > Real(0.25)) {
        t = RootOfTriangular(t);
        near = t - ComplexMatrix::Identity(n, n);
        ++roots;
      }
      ComplexMatrix result = LogOfNearIdentity(near) * std::ldexp(Real(1), roots);
      result.diagonal() = logs;
      if (roots == kMostRoots) result.setConstant(NotANumber<Complex>());
      y = schur.u * result * schur.u.adjoint();
    });
  }
}

template struct Function<T>;

}  // namespace thalweg::compute
