// SPDX-License-Identifier: Apache-2.0
// What singular_linalg.cc and complex_singular_linalg.cc share: matrices whose answer needs no
// decomposition.
// Ownership: the matrices are the caller's.
// Threads: any; no state.
// Errors: none; false for a matrix that needs a decomposition.
#pragma once

#include <algorithm>

#include "thalweg/compute/linalg/eigen.h"

namespace thalweg::compute {

// A matrix without elements has bases of the whole space, or none. One with a number that is none
// has no numbers. False for any other.
template <class T>
bool HasPlainSvd(int64_t m, int64_t n, const void* a, bool full, void* s, void* u, void* v) {
  const int64_t small = std::min(m, n);
  if (small == 0) {
    if (u == nullptr || !full) return true;
    if (m > 0) Out<T>(u, m, m).setIdentity();
    if (n > 0) Out<T>(v, n, n).setIdentity();
    return true;
  }
  if (In<T>(a, m, n).allFinite()) return false;
  Out<T>(s, 1, small).setConstant(NotANumber<T>());
  if (u != nullptr) {
    Out<T>(u, m, full ? m : small).setConstant(NotANumber<T>());
    Out<T>(v, n, full ? n : small).setConstant(NotANumber<T>());
  }
  return true;
}

}  // namespace thalweg::compute
