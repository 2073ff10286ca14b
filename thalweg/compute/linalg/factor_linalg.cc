// SPDX-License-Identifier: Apache-2.0
// Triangular factors. Compiled once per element type.
#include <Eigen/Cholesky>
#include <Eigen/LU>

#include "thalweg/compute/linalg/eigen.h"

namespace thalweg::compute {
namespace {

using T = THALWEG_LINALG_TYPE;
using Real = ::Eigen::NumTraits<T>::Real;
using Matrix = RowMatrix<T>;
using Factors = ::Eigen::PartialPivLU<Matrix>;

// Exact: only a pivot of zero, or none at all, is refused.
bool IsInvertible(const Factors& factors) {
  return factors.matrixLU().diagonal().cwiseAbs().minCoeff() > Real(0) &&
         factors.matrixLU().diagonal().array().isFinite().all();
}

Matrix MaybeAdjoint(int64_t n, const void* a, bool adjoint) {
  if (adjoint) return In<T>(a, n, n).adjoint();
  return In<T>(a, n, n);
}

}  // namespace

template <>
LinalgResult Factor<T>::Cholesky(int64_t n, const void* a, void* l) {
  return Guarded([&] {
    ::Eigen::LLT<Matrix> llt;
    if (n > 0) llt.compute(In<T>(a, n, n));
    if (n > 0 && llt.info() != ::Eigen::Success) return false;
    if (n > 0) Out<T>(l, n, n) = llt.matrixL();
    return true;
  });
}

// Iain Murray, "Differentiation of the Cholesky decomposition" (2016), (9) and (10).
template <>
LinalgResult Factor<T>::CholeskyGradient(int64_t n, const void* l, const void* grad, void* out) {
  return Guarded([&] {
    if (n == 0) return true;
    const Matrix lower = In<T>(l, n, n).template triangularView<::Eigen::Lower>();
    const Matrix given = In<T>(grad, n, n).template triangularView<::Eigen::Lower>();
    Matrix middle = (lower.adjoint() * given).eval().template triangularView<::Eigen::Lower>();
    middle.diagonal() *= T(0.5);
    const auto solver = lower.adjoint().template triangularView<::Eigen::Upper>();
    solver.solveInPlace(middle);  // l^-H middle
    Matrix other = middle.adjoint();
    solver.solveInPlace(other);  // (l^-H middle l^-1)^H
    Out<T>(out, n, n) = T(0.5) * (other + other.adjoint());
    return true;
  });
}

template <>
LinalgResult Factor<T>::Lu(int64_t n, const void* a, void* lu, int64_t* p) {
  return Guarded([&] {
    if (n == 0) return true;
    const Factors factors(In<T>(a, n, n));
    if (!IsInvertible(factors)) return false;
    Out<T>(lu, n, n) = factors.matrixLU();
    const auto& to = factors.permutationP().indices();
    for (int64_t i = 0; i < n; ++i) p[to[i]] = i;
    return true;
  });
}

template <>
LinalgResult Factor<T>::Determinant(int64_t n, const void* a, void* out) {
  return Guarded([&] {
    *static_cast<T*>(out) = n == 0 ? T(1) : T(Factors(In<T>(a, n, n)).determinant());
    return true;
  });
}

template <>
LinalgResult Factor<T>::LogDeterminant(int64_t n, const void* a, void* sign, void* log_abs) {
  return Guarded([&] {
    T direction(1);
    Real logarithm(0);
    if (n > 0) {
      const Factors factors(In<T>(a, n, n));
      direction = T(Real(factors.permutationP().determinant()));
      for (int64_t i = 0; i < n; ++i) {
        const T pivot = factors.matrixLU()(i, i);
        const Real size = std::abs(pivot);
        direction *= size == Real(0) ? pivot : pivot / size;
        logarithm += std::log(size);
      }
    }
    *static_cast<T*>(sign) = direction;
    *static_cast<T*>(log_abs) = T(logarithm);
    return true;
  });
}

template <>
LinalgResult Factor<T>::Inverse(int64_t n, const void* a, bool adjoint, void* out) {
  return Guarded([&] {
    if (n == 0) return true;
    const Factors factors(MaybeAdjoint(n, a, adjoint));
    if (!IsInvertible(factors)) return false;
    Out<T>(out, n, n).noalias() = factors.inverse();
    return true;
  });
}

template <>
LinalgResult Factor<T>::Solve(int64_t n, int64_t k, const void* a, const void* rhs, bool adjoint,
                              void* out) {
  return Guarded([&] {
    if (n == 0 || k == 0) return true;
    const Factors factors(MaybeAdjoint(n, a, adjoint));
    if (!IsInvertible(factors)) return false;
    Out<T>(out, n, k).noalias() = factors.solve(In<T>(rhs, n, k));
    return true;
  });
}

template <>
LinalgResult Factor<T>::TriangularSolve(int64_t n, int64_t k, const void* a, const void* rhs,
                                        bool lower, bool adjoint, void* out) {
  return Guarded([&] {
    if (n == 0 || k == 0) return true;
    const auto matrix = In<T>(a, n, n);
    auto x = Out<T>(out, n, k);
    x = In<T>(rhs, n, k);
    if (lower && !adjoint) matrix.template triangularView<::Eigen::Lower>().solveInPlace(x);
    if (!lower && !adjoint) matrix.template triangularView<::Eigen::Upper>().solveInPlace(x);
    if (lower && adjoint) {
      matrix.adjoint().template triangularView<::Eigen::Upper>().solveInPlace(x);
    }
    if (!lower && adjoint) {
      matrix.adjoint().template triangularView<::Eigen::Lower>().solveInPlace(x);
    }
    return true;
  });
}

// Least squares by the smaller of the two Gramians.
template <>
LinalgResult Factor<T>::NormalEquations(int64_t m, int64_t n, int64_t k, const void* a,
                                        const void* rhs, double l2, void* out) {
  return Guarded([&] {
    const auto matrix = In<T>(a, m, n);
    const auto right = In<T>(rhs, m, k);
    auto x = Out<T>(out, n, k);
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

template struct Factor<T>;

}  // namespace thalweg::compute
