// SPDX-License-Identifier: Apache-2.0
// Which kinds of numbers that are not finite an array holds.
//
//   if ((compute::NonfiniteKinds(tensor.data<float>(), n) & compute::kNan) != 0) ...
//
// Ownership: none; the values are read during the call.
// Threads: any; the caller's alone.
// Errors: none.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

namespace thalweg::compute {

enum NonfiniteKind : uint32_t { kNan = 1, kPlusInf = 2, kMinusInf = 4 };

// `n` elements of a real floating type, half and bfloat16 included; the kinds are or'ed.
template <class T>
uint32_t NonfiniteKinds(const T* values, int64_t n) {
  using W = std::conditional_t<std::is_same_v<T, double>, double, float>;
  // Finite numbers times zero are zero, the others NaN: no branch for what is all but always so.
  W sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += static_cast<W>(values[i]) * W{0};
  if (sum == W{0}) return 0;
  uint32_t found = 0;
  for (int64_t i = 0; i < n; ++i) {
    const W value = static_cast<W>(values[i]);
    if (std::isnan(value)) found |= kNan;
    if (std::isinf(value)) found |= value > 0 ? kPlusInf : kMinusInf;
  }
  return found;
}

}  // namespace thalweg::compute
