// SPDX-License-Identifier: Apache-2.0
// Deadline: a point in time, or never. A value of 8 bytes; copies go down the call chain, durations
// do not.
//
//   Deadline end = Deadline::After(clock, std::chrono::seconds(5));
//   if (end.HasPassed(clock)) return DeadlineExceeded("...");
//
// Ownership: a value; it keeps no clock.
// Threads: any, as an int.
// Errors: none; whoever finds it passed makes a DeadlineExceeded.
#pragma once

#include <algorithm>

#include "thalweg/base/clock.h"

namespace thalweg {

class Deadline {
 public:
  Deadline() = default;  // never
  explicit Deadline(Clock::TimePoint time) : time_(time) {}

  static Deadline Never() { return Deadline(); }
  // A span too long for the clock is never.
  static Deadline After(const Clock& clock, std::chrono::nanoseconds span) {
    const Clock::TimePoint now = clock.Now();
    return span > Clock::TimePoint::max() - now ? Never() : Deadline(now + span);
  }

  bool IsNever() const { return time_ == Clock::TimePoint::max(); }
  Clock::TimePoint time() const { return time_; }
  bool HasPassed(const Clock& clock) const { return !IsNever() && clock.Now() >= time_; }
  // Zero once it has passed.
  std::chrono::nanoseconds Remaining(const Clock& clock) const {
    if (IsNever()) return std::chrono::nanoseconds::max();
    return std::max(std::chrono::nanoseconds(0),
                    std::chrono::duration_cast<std::chrono::nanoseconds>(time_ - clock.Now()));
  }
  Deadline Earlier(Deadline other) const { return Deadline(std::min(time_, other.time_)); }
  bool operator==(const Deadline&) const = default;

 private:
  Clock::TimePoint time_ = Clock::TimePoint::max();
};

}  // namespace thalweg
