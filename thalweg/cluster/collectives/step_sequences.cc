// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/collectives/step_sequences.h"

#include <algorithm>
#include <utility>

#include "thalweg/base/entropy.h"

namespace thalweg {
namespace {

constexpr size_t kMostKeys = 10'000;
constexpr size_t kMostFailures = 64;  // of a key
constexpr int64_t kMask = (int64_t{1} << 56) - 1;

// As TensorFlow counts: 56 bits, of which none is no step.
int64_t After(int64_t id) {
  const int64_t next = (id + 1) & kMask;
  return next == 0 ? 1 : next;
}

// Whether it is this step or one of those before it.
bool IsUpTo(int64_t id, int64_t last) { return ((last - id) & kMask) < (int64_t{1} << 20); }

}  // namespace

Result<StepSequences::Sequence*> StepSequences::Of(int64_t key) {
  if (sequences_.size() >= kMostKeys && !sequences_.contains(key)) {
    return ResourceExhausted(self_, " keeps the steps of at most ", kMostKeys,
                             " graphs with collective operations");
  }
  return &sequences_[key];
}

Result<int64_t> StepSequences::Next(int64_t key) {
  MutexLock lock(mutex_);
  ASSIGN_OR_RETURN(Sequence* const sequence, Of(key));
  if (sequence->next == 0) sequence->next = static_cast<int64_t>(RandomSeed() >> 8 | 1);
  return sequence->next;
}

void StepSequences::NoteFailure(int64_t key, int64_t id, const Status& why, Clock::TimePoint now) {
  MutexLock lock(mutex_);
  const Result<Sequence*> sequence = Of(key);
  if (!sequence.ok()) return;
  std::deque<Failure>& failures = (*sequence)->failures;
  const auto is_it = [id](const Failure& failure) { return failure.id == id; };
  if (failures.size() >= kMostFailures || std::ranges::any_of(failures, is_it)) return;
  failures.push_back({.id = id, .why = why, .time = now});
}

Status StepSequences::TakeFailure(Clock::TimePoint session_made, Sequence* sequence) {
  while (!sequence->failures.empty()) {
    const Failure failure = std::move(sequence->failures.front());
    sequence->failures.pop_front();
    const bool is_next = sequence->next == failure.id;
    const bool is_over = sequence->failed != 0 && IsUpTo(failure.id, sequence->failed);
    // Of a step that is over, or of another leader's.
    if (!is_next && (sequence->leads || sequence->next != 0 || is_over)) continue;
    sequence->failed = failure.id;
    sequence->next = sequence->leads ? After(failure.id) : 0;
    if (failure.time >= session_made) return failure.why;
  }
  return OkStatus();
}

Result<int64_t> StepSequences::Begin(int64_t key, const AskLeader& ask,
                                     Clock::TimePoint session_made) {
  {
    MutexLock lock(mutex_);
    ASSIGN_OR_RETURN(Sequence* const sequence, Of(key));
    if (sequence->runs) {
      return FailedPrecondition("a step with collective_graph_key ", key, " runs already on ",
                                self_, ": one at a time");
    }
    sequence->leads = ask == nullptr;
    RETURN_IF_ERROR(TakeFailure(session_made, sequence));
    sequence->runs = true;
    if (sequence->next != 0) return sequence->next;
  }
  if (ask == nullptr) return Next(key);
  const Result<int64_t> next = ask();
  MutexLock lock(mutex_);
  Sequence& sequence = sequences_[key];
  if (!next.ok()) {
    sequence.runs = false;
    return next.status().WithContext(
        StrCat("the number of the next step with collective_graph_key ", key));
  }
  // While it was asked, another task may have told of a step that has failed, which the leader may
  // have ended before it answered.
  if (Status failed = TakeFailure(session_made, &sequence); !failed.ok()) {
    sequence.runs = false;
    return failed;
  }
  // The leader may not have ended yet, or begun, the steps that have failed here.
  const bool is_over = sequence.failed != 0 && IsUpTo(*next, sequence.failed);
  sequence.next = is_over ? After(sequence.failed) : *next;
  return sequence.next;
}

void StepSequences::End(int64_t key, int64_t id, bool ok) {
  MutexLock lock(mutex_);
  Sequence& sequence = sequences_[key];
  sequence.runs = false;
  sequence.next = After(id);
  if (ok || sequence.leads) return;
  sequence.failed = id;
  sequence.next = 0;
}

}  // namespace thalweg
