// SPDX-License-Identifier: Apache-2.0
// MemoryCurve: what a device held over a step, by kind, and who held the most of it at some moment.
//
//   for (const MemoryUse& use : MemoryOfStep(trace, 0)) {
//     for (const MemoryPoint& point : MemoryCurve(use, 1000)) Use(point.at, point.bytes);
//     Use(LargestHolders(use, 100));
//   }
//
// A point holds from its moment until the next one. What is beside blocks and residents
// (`unexplained_bytes`) is in none of them.
// Ownership: holders are views of the use, which outlives them.
// Threads: any.
// Errors: none.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "thalweg/trace/memory_use.h"

namespace thalweg {

struct MemoryPoint {
  int64_t at = 0;
  std::array<int64_t, kMemoryKinds> bytes{};
};

// By time, from the step's begin on. Of more than `most` moments, neighbors are one, which shows
// the highest of them: no peak is lost, and none is higher than it was.
std::vector<MemoryPoint> MemoryCurve(const MemoryUse& use, size_t most);

// Who is one of the 8 largest at some moment, by begin; of more than `most` the largest ones.
std::vector<const MemoryBlock*> LargestHolders(const MemoryUse& use, size_t most);

}  // namespace thalweg
