// SPDX-License-Identifier: Apache-2.0
// Clock: where time comes from. Passed down, never read from a global, so that tests bring their
// own (testing/).
//
//   SystemClock clock;
//   const Deadline end = Deadline::After(clock, std::chrono::milliseconds(50));
//
// Ownership: whoever makes a clock keeps it until the last that was given it is gone.
// Threads: all calls from any thread.
// Errors: none.
#pragma once

#include <chrono>
#include <cstdint>

#include "thalweg/base/mutex.h"

namespace thalweg {

class Clock {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  virtual ~Clock() = default;
  // Never goes back; for deadlines and durations.
  virtual TimePoint Now() const = 0;
  // Microseconds since 1970; for records that people or other programs read.
  virtual int64_t WallMicros() const = 0;
  // Waits on `changed` until it is notified or `end` is reached on this clock. May return early.
  virtual void WaitUntil(Mutex& mutex, CondVar& changed, TimePoint end) REQUIRES(mutex) = 0;
};

class SystemClock : public Clock {
 public:
  TimePoint Now() const override { return std::chrono::steady_clock::now(); }
  int64_t WallMicros() const override {
    return std::chrono::duration_cast<std::chrono::microseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
  }
  void WaitUntil(Mutex& mutex, CondVar& changed, TimePoint end) override REQUIRES(mutex) {
    if (end == TimePoint::max()) {
      changed.Wait(mutex);
    } else {
      (void)changed.WaitUntil(mutex, end);
    }
  }
};

}  // namespace thalweg
