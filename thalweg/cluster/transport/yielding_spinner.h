// SPDX-License-Identifier: Apache-2.0
// YieldingSpinner: how a thread waits for a message before it sleeps.
//
//   YieldingSpinner spinner;
//   while (!Poll()) if (!spinner.Spin()) { sleep; }
//
// Threads: one.
#pragma once

#include <chrono>
#include <cstdint>

namespace thalweg {

// Yields often, for 400 us at most. Where another process takes what is given away, a yield is
// dear: then it yields no more for a while, and gives up after 50 us.
class YieldingSpinner {
 public:
  // False when the time is over.
  bool Spin();
  void Reset() { spins_ = 0; }

 private:
  uint32_t spins_ = 0;
  std::chrono::steady_clock::time_point begin_;
};

}  // namespace thalweg
