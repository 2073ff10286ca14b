// SPDX-License-Identifier: Apache-2.0
// A zero row and column in front of a square matrix. Eigen 3.4 reads before a matrix whose leading
// 2x2 block resists ten steps of the complex QR iteration; behind a border, which is deflated,
// there is none in front. The Schur form (and the eigenvalues, by size) of the matrix stands behind
// that of the border. Included by *_linalg.cc only.
// Ownership: the result is a copy.
// Threads: any; no state.
// Errors: std::bad_alloc, which Guarded catches.
#pragma once

#include "thalweg/compute/linalg/eigen.h"

namespace thalweg::compute {

template <class M>
auto Bordered(const M& a) {
  typename M::PlainObject bordered = M::PlainObject::Zero(a.rows() + 1, a.cols() + 1);
  bordered.bottomRightCorner(a.rows(), a.cols()) = a;
  return bordered;
}

}  // namespace thalweg::compute
