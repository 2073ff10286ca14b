// SPDX-License-Identifier: Apache-2.0
// A function of a matrix: of one that is not finite it is no number. Included by *_linalg.cc only.
// Ownership: the matrices are the caller's.
// Threads: any; no state.
// Errors: those of `f`; a matrix that is not finite is none.
#pragma once

#include "thalweg/compute/linalg/eigen.h"

namespace thalweg::compute {

// f: the answer from a finite matrix.
template <class T, class F>
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

}  // namespace thalweg::compute
