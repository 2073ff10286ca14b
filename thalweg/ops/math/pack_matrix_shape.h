// SPDX-License-Identifier: Apache-2.0
// The room for a packed matrix, the same at every instruction set level. Private to this family.
// Ownership: a number.
// Threads: any; no state.
// Errors: none; -1 where the number overflows.
#pragma once

#include <cstdint>

namespace thalweg {

// The widest panel of floats of any level; columns are filled up to whole panels.
inline constexpr int64_t kPackedColumns = 32;

// Elements for b [k, n]; -1 when they overflow. k, n >= 0.
inline int64_t RoomForPacked(int64_t n, int64_t k) {
  int64_t columns, elements;
  if (__builtin_add_overflow(n, kPackedColumns - 1, &columns)) return -1;
  columns = columns / kPackedColumns * kPackedColumns;
  return __builtin_mul_overflow(columns, k, &elements) ? -1 : elements;
}

}  // namespace thalweg
