// SPDX-License-Identifier: Apache-2.0
// Percent: a part of a time in whole percent, for any times that a trace may tell.
//
//   const std::string share = StrCat(Percent(/*part=*/2, /*whole=*/5), " %");  // "40 %"
//
// Ownership: none.
// Threads: any.
// Errors: none.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace thalweg {

// Of times whose hundredfold int64_t may not hold. Of nothing: 100 a nanosecond.
inline int64_t Percent(int64_t part, int64_t whole) {
  return std::llround(100.0 * static_cast<double>(part) /
                      static_cast<double>(std::max<int64_t>(whole, 1)));
}

}  // namespace thalweg
