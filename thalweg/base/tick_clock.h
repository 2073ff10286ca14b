// SPDX-License-Identifier: Apache-2.0
// TickClock: moments of one span of time, for who asks too often for a clock: the processor's own
// counter where it runs evenly, else the clock that it is given.
//
//   TickClock ticks(clock);
//   const int64_t begin = ticks.Now();
//   ticks.End();
//   const int64_t nanos = ticks.Nanos(begin);   // on that clock
//
// The counter is compared with the clock when a TickClock is made and at its end; what lies between
// is put in proportion, so later ticks are later moments, none outside of the two. The counter
// counts where the processor says that it never stops or changes its pace, the system itself keeps
// time by it, and the clock is a SystemClock.
// Ownership: the clock outlives it.
// Threads: Now from any; End from one, before any Nanos.
// Errors: none.
#pragma once

#include <x86intrin.h>

#include <cstdint>

#include "thalweg/base/clock.h"

namespace thalweg {

class TickClock {
 public:
  explicit TickClock(const Clock& clock);

  int64_t Now() const { return counts_ ? Counter() : ClockNanos(); }
  // The second time does nothing.
  void End();
  int64_t Nanos(int64_t ticks) const {
    if (!counts_) return ticks;
    return begin_.nanos +
           static_cast<int64_t>(static_cast<double>(ticks - begin_.ticks) * nanos_a_tick_);
  }
  // When it was made, and when it ended.
  int64_t begin_nanos() const { return begin_.nanos; }
  int64_t end_nanos() const { return end_.nanos; }
  bool counts() const { return counts_; }

 private:
  struct Moment {
    int64_t ticks = 0, nanos = 0;
  };
  // Instructions around it may run on its other side, which is some nanoseconds; to wait for them
  // takes as long as the reading.
  static int64_t Counter() { return static_cast<int64_t>(__rdtsc()); }
  int64_t ClockNanos() const;
  Moment Compare() const;

  const Clock& clock_;
  const bool counts_;
  bool ended_ = false;
  Moment begin_, end_;
  double nanos_a_tick_ = 0;
};

}  // namespace thalweg
