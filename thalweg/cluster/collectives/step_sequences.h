// SPDX-License-Identifier: Apache-2.0
// StepSequences: the numbers of steps that run with a collective_graph_key. Steps of several
// sessions with one key are one step to its collective operations: the n-th of each have the same
// number. They count up from one that the leader draws (GetStepSequence), each for itself.
//
//   ASSIGN_OR_RETURN(int64_t id, sequences.Begin(key, ask_leader, session_made));
//   sequences.End(key, id, status.ok());
//
// A step that has failed in another task before it began here fails when it would begin, so that
// all count alike; but not for a session that was made after that.
// Ownership: keeps numbers; `ask` is used during the call.
// Threads: every member from any.
// Errors: the leader's; FailedPrecondition while another step of the key runs in this task;
// ResourceExhausted for too many keys.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>

#include "thalweg/base/clock.h"
#include "thalweg/base/mutex.h"
#include "thalweg/base/status.h"

namespace thalweg {

class StepSequences {
 public:
  // `self`: the task's name, for messages.
  explicit StepSequences(std::string self) : self_(std::move(self)) {}

  // What the leader answers: the number of the key's next step, or of that which runs here.
  Result<int64_t> Next(int64_t key) EXCLUDES(mutex_);
  // Null: this task leads. Called without a lock, where nothing is known or a step has failed.
  using AskLeader = std::function<Result<int64_t>()>;
  Result<int64_t> Begin(int64_t key, const AskLeader& ask, Clock::TimePoint session_made = {})
      EXCLUDES(mutex_);
  // Another task has told that its step with this number has failed; it has not begun here.
  void NoteFailure(int64_t key, int64_t id, const Status& why, Clock::TimePoint now)
      EXCLUDES(mutex_);
  // Who does not lead asks again after a failed step: its leader may be a new one.
  void End(int64_t key, int64_t id, bool ok) EXCLUDES(mutex_);

 private:
  struct Failure {
    int64_t id = 0;
    Status why;
    Clock::TimePoint time;
  };
  struct Sequence {
    std::deque<Failure> failures;  // in other tasks, of steps that have not begun here
    int64_t next = 0;              // 0: the leader knows
    int64_t failed = 0;
    bool runs = false;
    bool leads = true;
  };
  Result<Sequence*> Of(int64_t key) REQUIRES(mutex_);
  // The error of the sequence's next step, where it has failed already.
  static Status TakeFailure(Clock::TimePoint session_made, Sequence* sequence);

  const std::string self_;
  Mutex mutex_;
  std::map<int64_t, Sequence> sequences_ GUARDED_BY(mutex_);
};

}  // namespace thalweg
