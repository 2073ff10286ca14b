// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/collectives/step_sequences.h"

#include "thalweg/base/entropy.h"

namespace thalweg {
namespace {

constexpr size_t kMostKeys = 10'000;

// As TensorFlow counts: 56 bits, of which none is no step.
int64_t After(int64_t id) {
  constexpr int64_t kMask = (int64_t{1} << 56) - 1;
  const int64_t next = (id + 1) & kMask;
  return next == 0 ? 1 : next;
}

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

Result<int64_t> StepSequences::Begin(int64_t key, const AskLeader& ask) {
  {
    MutexLock lock(mutex_);
    ASSIGN_OR_RETURN(Sequence* const sequence, Of(key));
    if (sequence->runs) {
      return FailedPrecondition("a step with collective_graph_key ", key, " runs already on ",
                                self_, ": one at a time");
    }
    sequence->runs = true;
    sequence->leads = ask == nullptr;
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
  // The leader may not have ended yet the step that has failed here.
  sequence.next = *next == sequence.failed ? After(*next) : *next;
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
