// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/steps/coordinator_state.h"

namespace thalweg {

CoordinatorState::Reaction CoordinatorState::Note(const Status& why, bool derived, StepTime now) {
  const bool first = status_.ok();
  if (first || (derived_ && !derived && !closed())) {
    status_ = why;
    derived_ = derived;
  }
  if (first) give_up_ = now + kPatience;
  return {.cancel = first && !closed(), .closed = closed()};
}

CoordinatorState::Reaction CoordinatorState::Done(size_t who) {
  if (answered_[who]) return {.closed = closed()};
  answered_[who] = true;
  --open_;
  return {.closed = closed()};
}

CoordinatorState::Reaction CoordinatorState::Failed(size_t who, const Status& why, bool derived,
                                                    StepTime now) {
  if (answered_[who]) return {.closed = closed()};
  const bool was_given_up = given_up_;
  if (was_given_up) return {.closed = true};
  // Before it counts as answered: the last to fail may have the root cause.
  const Reaction noted = Note(why, derived, now);
  answered_[who] = true;
  --open_;
  return {.cancel = noted.cancel && open_ > 0, .closed = closed()};
}

CoordinatorState::Reaction CoordinatorState::Stop(const Status& why, bool derived, StepTime now) {
  if (closed()) return {.closed = true};
  return Note(why, derived, now);
}

CoordinatorState::Reaction CoordinatorState::Tick(StepTime now) {
  if (closed()) return {.closed = true};
  if (closing()) {
    given_up_ = now >= give_up_;
    return {.closed = given_up_};
  }
  if (now < deadline_) return {};
  return Note(DeadlineExceeded("the step did not end within its deadline"), true, now);
}

}  // namespace thalweg
