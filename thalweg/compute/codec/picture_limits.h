// SPDX-License-Identifier: Apache-2.0
// What a file may claim, whatever the memory limit says.
#pragma once

#include <cstdint>

namespace thalweg {

// Rows times columns of one picture stay below this.
inline constexpr int64_t kMostPixels = int64_t{1} << 29;
// Rows, and columns, stay below this.
inline constexpr int64_t kMostSide = int64_t{1} << 27;

}  // namespace thalweg
