// SPDX-License-Identifier: Apache-2.0
// AxisFromFront: an axis that may count from the back, for those who have words of their own for
// one out of range; NormalizeAxis of integers.h has words for the others.
//
//   const std::optional<int> axis = AxisFromFront(given, rank);
//   if (!axis) return InvalidArgument("perm dim ", given, " is out of range of input rank ", rank);
//
// Ownership: a value.
// Threads: any.
// Errors: none; nothing for an axis out of range, of which the caller speaks.
#pragma once

#include <cstdint>
#include <optional>

namespace thalweg {

// `axis` counted from the front; nothing unless -rank <= axis < rank.
inline std::optional<int> AxisFromFront(int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) return std::nullopt;
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

}  // namespace thalweg
