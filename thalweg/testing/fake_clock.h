// SPDX-License-Identifier: Apache-2.0
// FakeClock: a clock that stands still until a test moves it.
//
//   FakeClock clock;
//   Timer timer(clock);
//   timer.Add(Deadline::After(clock, std::chrono::hours(1)), ...);
//   clock.Advance(std::chrono::hours(2));   // the callback runs
//
// Ownership: the test's; it outlives who was given it.
// Threads: all calls from any thread. A waiter looks at the clock again every millisecond of real
// time, so that a test needs no knowledge of who waits where.
// Errors: none.
#pragma once

#include <atomic>

#include "thalweg/base/clock.h"

namespace thalweg {

class FakeClock : public Clock {
 public:
  TimePoint Now() const override {
    return TimePoint(std::chrono::nanoseconds(nanos_.load(std::memory_order_acquire)));
  }
  int64_t WallMicros() const override { return nanos_.load(std::memory_order_acquire) / 1000; }
  void WaitUntil(Mutex& mutex, CondVar& changed, TimePoint end) override REQUIRES(mutex) {
    if (Now() >= end) return;
    (void)changed.WaitUntil(mutex, std::chrono::steady_clock::now() + std::chrono::milliseconds(1));
  }
  void Advance(std::chrono::nanoseconds span) {
    nanos_.fetch_add(span.count(), std::memory_order_acq_rel);
  }

 private:
  std::atomic<int64_t> nanos_{1'000'000'000};
};

}  // namespace thalweg
