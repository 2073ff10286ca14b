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
// Ownership: a value: copies Statuses, points at nothing.
// Threads: one at a time.
// Errors: the step is OK when everybody is done. Otherwise it ends with its root cause: the
// earliest error that is no consequence of another. Those who do not answer their CANCEL within a
// second are named and not waited for.
#pragma once

#include <string>
#include <vector>

#include "thalweg/base/status.h"
#include "thalweg/cluster/steps/step_time.h"

namespace thalweg {

class CoordinatorState {
 public:
  static constexpr StepTime kPatience = std::chrono::seconds(1);

  struct Reaction {
    bool cancel = false;  // tell those who have not answered, once
    bool closed = false;  // the outcome is settled
  };

  // `deadline`: StepTime::max() for none.
  CoordinatorState(size_t participants, StepTime deadline)
      : deadline_(deadline), answered_(participants), open_(participants) {}

  Reaction Done(size_t who);
  Reaction Failed(size_t who, const Status& why, bool derived, StepTime now);
  // Will never answer.
  Reaction Lost(size_t who, const Status& why, StepTime now) {
    return Failed(who, why, false, now);
  }
  // The step is to end: its client cancelled it, or the master's own part failed.
  Reaction Stop(const Status& why, bool derived, StepTime now);
  Reaction Tick(StepTime now);

  bool closed() const { return open_ == 0 || given_up_; }
  bool closing() const { return !status_.ok(); }
  bool awaits(size_t who) const { return !answered_[who]; }
  const Status& status() const { return status_; }
  // When Tick has something to do; StepTime::max(): never.
  StepTime next_tick() const { return closing() ? give_up_ : deadline_; }

 private:
  Reaction Note(const Status& why, bool derived, StepTime now);

  const StepTime deadline_;
  StepTime give_up_{};
  std::vector<bool> answered_;
  size_t open_;
  Status status_;
  bool derived_ = false;
  bool given_up_ = false;
};

}  // namespace thalweg
