// SPDX-License-Identifier: Apache-2.0
// YieldingSpinner: how a thread waits for a message before it sleeps.
//
//   YieldingSpinner spinner;
//   while (!Poll()) {
//     if (!spinner.Spin()) Sleep();
//   }
//
// Ownership: lies on the stack of who waits; costs are the thread's.
// Threads: one.
// Errors: none; Spin() is false when it is time to sleep.
#pragma once

#include <chrono>
#include <cstdint>

#include "thalweg/base/clock.h"

namespace thalweg {

// What yielding the processor has cost a thread lately. Where many spin, a yield lets each of them
// look once, in microseconds. Where others compute, they take what is given away for as long as
// they like: an expensive yield is followed by a pause, doubled each time.
class YieldCosts {
 public:
  // Longer than a thread takes for a message or two, shorter than the slice of one that computes.
  static constexpr std::chrono::microseconds kExpensive{1000};
  static constexpr std::chrono::milliseconds kFirstPause{10};
  static constexpr std::chrono::milliseconds kMostPause{1000};

  bool pausing(Clock::TimePoint now) const { return now < not_before_; }
  void Note(Clock::TimePoint before, Clock::TimePoint after);

 private:
  Clock::TimePoint not_before_;
  std::chrono::milliseconds pause_ = kFirstPause;
};

// Yields often, for 400 us at most. While yields take long it gives up at once: who spins without
// yielding may hold the very processor that the sender of the message needs, and then its peers'
// yields take long, too.
class YieldingSpinner {
 public:
  // False when the time is over.
  bool Spin();
  void Reset() { spins_ = 0; }

 private:
  uint32_t spins_ = 0;
  Clock::TimePoint begin_;
};

}  // namespace thalweg
