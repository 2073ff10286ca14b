// SPDX-License-Identifier: Apache-2.0
// CalledNodes: whose kernel each thread of a step is in, for who asks why the step does not end. A
// thread that calls a kernel writes one word of its own.
//
//   called.of(thread).store(CalledNodes::Mark(node), std::memory_order_relaxed);
//   for (uint32_t node : called.List()) ...   // numbers in the program
//
// Ownership: belongs to the step; the plan's nodes are numbers.
// Threads: one writer a thread number (of those beyond the last one, one is seen); List from any.
// Errors: none.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

namespace thalweg {

class CalledNodes {
 public:
  using Place = std::atomic<uint32_t>;
  static constexpr uint32_t kNone = 0;
  static uint32_t Mark(uint32_t node) { return node + 1; }

  Place& of(int thread) { return slots_[std::min<size_t>(thread, kSlots - 1)].place; }
  // Without order: others may begin and end meanwhile.
  std::vector<uint32_t> List() const {
    std::vector<uint32_t> nodes;
    for (const Slot& slot : slots_) {
      const uint32_t mark = slot.place.load(std::memory_order_relaxed);
      if (mark != kNone) nodes.push_back(mark - 1);
    }
    return nodes;
  }

 private:
  static constexpr size_t kSlots = 16;
  struct alignas(64) Slot {  // a cache line of its own
    Place place{kNone};
  };
  std::array<Slot, kSlots> slots_;
};

}  // namespace thalweg
