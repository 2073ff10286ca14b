// SPDX-License-Identifier: Apache-2.0
// Chebyshev: the sum of c[k] T_k over [low, high], by Clenshaw's recurrence. Private to compute/.
// Ownership: none; numbers.
// Threads: any; no state.
// Errors: none.
#pragma once

#include <cstddef>

namespace thalweg::compute {

template <size_t N>
double Chebyshev(const double (&c)[N], double x, double low, double high) {
  const double t = (2 * x - (low + high)) / (high - low);
  double b1 = 0, b2 = 0;
  for (size_t k = N - 1; k > 0; --k) {
    const double b0 = c[k] + 2 * t * b1 - b2;
    b2 = b1;
    b1 = b0;
  }
  return c[0] + t * b1 - b2;
}

}  // namespace thalweg::compute
