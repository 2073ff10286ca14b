// SPDX-License-Identifier: Apache-2.0
// Singular values of complex matrices: those of their bidiagonal form, which is real, so that
// divide and conquer is compiled for the real types alone. Compiled once per complex type.
#include <Eigen/SVD>

#include "thalweg/compute/linalg/singular.h"

namespace thalweg::compute {
namespace {

using T = THALWEG_LINALG_TYPE;
using Real = ::Eigen::NumTraits<T>::Real;
using Matrix = ColumnMatrix<T>;

// out [rows, columns] = h diag(core, 1) for reflections h of a bidiagonalization.
template <class Reflections>
void Spread(const Reflections& h, const RowMatrix<Real>& core, int64_t columns, void* out) {
  Matrix whole = Matrix::Identity(h.rows(), columns);
  whole.topLeftCorner(core.rows(), core.cols()) = core.template cast<T>();
  h.applyThisOnTheLeft(whole);
  Out<T>(out, h.rows(), columns) = whole;
}

// a = h_u b h_v^H; of a wide matrix the adjoint is taken.
LinalgResult Decompose(int64_t m, int64_t n, const void* a, bool full, void* s, void* u, void* v) {
  const bool wide = m < n;
  const int64_t small = std::min(m, n);
  const auto given = In<T>(a, m, n);
  Real scale = given.cwiseAbs().maxCoeff();  // so that no square overflows or vanishes
  if (scale == Real(0)) scale = Real(1);
  Matrix tall;
  if (wide) {
    tall = given.adjoint() / scale;
  } else {
    tall = given / scale;
  }
  ::Eigen::internal::UpperBidiagonalization<Matrix> form(tall);
  const RowMatrix<Real> b = form.bidiagonal().toDenseMatrix();
  RowMatrix<Real> values(1, small), left, right;
  if (u != nullptr) {
    left.resize(small, small);
    right.resize(small, small);
  }
  const LinalgResult result =
      Singular<Real>::Svd(small, small, b.data(), false, values.data(), u ? left.data() : nullptr,
                          u ? right.data() : nullptr);
  if (result != LinalgResult::kOk) return result;
  Out<T>(s, 1, small) = (values * scale).template cast<T>();
  if (u != nullptr) {
    Spread(form.householderU(), left, full ? std::max(m, n) : small, wide ? v : u);
    Spread(form.householderV(), right, small, wide ? u : v);
  }
  return result;
}

}  // namespace

template <>
LinalgResult Singular<T>::Svd(int64_t m, int64_t n, const void* a, bool full, void* s, void* u,
                              void* v) {
  LinalgResult result = LinalgResult::kOk;
  const LinalgResult guarded = Guarded([&] {
    if (!HasPlainSvd<T>(m, n, a, full, s, u, v)) result = Decompose(m, n, a, full, s, u, v);
    return true;
  });
  return guarded == LinalgResult::kOk ? result : guarded;
}

}  // namespace thalweg::compute
