// SPDX-License-Identifier: Apache-2.0
// StepCounter: how many steps began and how they ended, how long they took, and since when the
// oldest open one runs.
//
//   StepCounter steps(clock);
//   StepCounter::Open open(steps);
//   Status status = open.End(Run());           // without End, it counts as failed
//
// Ownership: outlives its open steps.
// Threads: every member from any; an Open is one thread's.
// Errors: none; End gives back the status of the step.
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <optional>

#include "thalweg/base/clock.h"
#include "thalweg/base/mutex.h"
#include "thalweg/base/status.h"

namespace thalweg {

class StepCounter {
 public:
  // Seconds; a step counts in the first bound that is not below its time, or in the last place.
  static constexpr std::array kBounds = {0.0001, 0.001, 0.01, 0.1, 1.0, 10.0, 100.0};

  // A step, from its beginning to its end.
  class Open {
   public:
    explicit Open(StepCounter& counter);
    Open(const Open&) = delete;
    Open& operator=(const Open&) = delete;
    ~Open();
    Status End(Status status) {
      ok_ = status.ok();
      return status;
    }

   private:
    StepCounter& counter_;
    bool ok_ = false;
    std::list<Clock::TimePoint>::iterator at_;
  };

  struct Values {
    uint64_t done = 0;
    uint64_t failed = 0;
    uint64_t open = 0;
    double seconds = 0;                                     // of all that have ended
    std::array<uint64_t, kBounds.size() + 1> by_seconds{};  // of all that have ended
    std::optional<double> oldest_seconds;                   // since the oldest open one began
  };
  Values Read() const EXCLUDES(mutex_);

  explicit StepCounter(const Clock& clock) : clock_(clock) {}

 private:
  const Clock& clock_;
  mutable Mutex mutex_;
  Values ended_ GUARDED_BY(mutex_);
  std::list<Clock::TimePoint> open_ GUARDED_BY(mutex_);  // the oldest first
};

}  // namespace thalweg
