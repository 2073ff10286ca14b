// SPDX-License-Identifier: Apache-2.0
// CoordinatorState: one step as its master sees it: who has still to answer, and what the step's
// outcome is. A state machine: it knows no thread, clock or channel; its owner carries out what it
// says.
//
//   CoordinatorState coordinator(3, now + timeout);        // START goes to participants 0, 1, 2
//   const CoordinatorState::Reaction todo = coordinator.Failed(1, status, false, now);
//   if (todo.cancel) SendCancel();              // to all for whom awaits() holds
//   if (todo.closed) return coordinator.status();
//
// Threads: one at a time.
// Errors: the step is OK when everybody is done. Otherwise it ends with its root cause: the
// earliest error that is no consequence of another. Those who do not answer their CANCEL within a
// second are named and not waited for.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "thalweg/base/status.h"

namespace thalweg {

class CoordinatorState {
 public:
  using Time = std::chrono::nanoseconds;  // since any fixed point
  static constexpr Time kPatience = std::chrono::seconds(1);

  struct Reaction {
    bool cancel = false;  // tell those who have not answered, once
    bool closed = false;  // the outcome is settled
  };

  // `deadline`: Time::max() for none.
  CoordinatorState(size_t participants, Time deadline)
      : deadline_(deadline), answered_(participants), open_(participants) {}

  Reaction Done(size_t who);
  Reaction Failed(size_t who, const Status& why, bool derived, Time now);
  // Will never answer.
  Reaction Lost(size_t who, const Status& why, Time now) { return Failed(who, why, false, now); }
  // The step is to end: its client cancelled it, or the master's own part failed.
  Reaction Stop(const Status& why, bool derived, Time now);
  Reaction Tick(Time now);

  bool closed() const { return open_ == 0 || given_up_; }
  bool closing() const { return !status_.ok(); }
  bool awaits(size_t who) const { return !answered_[who]; }
  const Status& status() const { return status_; }
  // When Tick has something to do; Time::max(): never.
  Time next_tick() const { return closing() ? give_up_ : deadline_; }

 private:
  Reaction Note(const Status& why, bool derived, Time now);

  const Time deadline_;
  Time give_up_{};
  std::vector<bool> answered_;
  size_t open_;
  Status status_;
  bool derived_ = false;
  bool given_up_ = false;
};

}  // namespace thalweg
