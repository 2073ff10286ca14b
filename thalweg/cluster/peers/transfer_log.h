// SPDX-License-Identifier: Apache-2.0
// TransferLog: the tensors that a task has received from others, by step, while somebody traces:
// what Logging answers.
//
//   log.Enable(step);
//   log.Add(step, {.source = task, .destination = self, .edge = "x:0", .bytes = n});
//   log.MoveTo(step, &step_stats);     // entries "RecvTensor", by receiving device
//
// Bounded: the oldest steps go first, also of those that are to be kept; of a step the oldest
// transfers go, which is told.
// Ownership: keeps what it was given by value; a callback of Noted keeps the caller's, and the log
// outlives it.
// Threads: every member from any.
// Errors: none; what is beyond the bound is dropped.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <string>

#include "thalweg/base/mutex.h"
#include "thalweg/kernel/rendezvous.h"
#include "thalweg/session/run_metadata.h"

namespace thalweg {

struct Transfer {
  std::string source, destination, edge;
  int64_t bytes = 0;
  int64_t start_micros = 0;  // since 1970
  int64_t end_micros = 0;
};

class TransferLog {
 public:
  // Of one step: several are traced at once, and one that ends says nothing of the others. What a
  // master that is gone has left keeps nothing, as no step has its number again; but as long as it
  // is not pushed out, each tensor that is received takes the lock for a look at what is wanted.
  void Enable(int64_t step) EXCLUDES(mutex_);
  void Disable(int64_t step) EXCLUDES(mutex_);
  // Of all steps: masters of TensorFlow's name none, and the last one says how it is.
  void EnableAll(bool on) EXCLUDES(mutex_);
  bool Keeps(int64_t step) EXCLUDES(mutex_) {
    return enabled_.load(std::memory_order_relaxed) && IsWanted(step);
  }
  void Add(int64_t step, Transfer transfer) EXCLUDES(mutex_);
  // The callback of a receive that begins now: adds it when it ends, then calls `done`.
  Rendezvous::RecvDone Noted(int64_t step, const RendezvousKey& key, Rendezvous::RecvDone done);
  // Adds what there is of the step, and forgets it. Times count from the stats' start.
  void MoveTo(int64_t step, StepStats* stats) EXCLUDES(mutex_);
  void Clear() EXCLUDES(mutex_);

 private:
  struct OfStep {
    std::deque<Transfer> transfers;
    std::map<std::string, int64_t> left_out;  // how many, by destination
    int64_t until_micros = 0;                 // the latest end of these
  };
  bool IsWanted(int64_t step) EXCLUDES(mutex_);
  void NoteWanted() REQUIRES(mutex_) {
    enabled_.store(wants_all_ || !wanted_.empty(), std::memory_order_relaxed);
  }

  std::atomic<bool> enabled_{false};  // any step
  Mutex mutex_;
  bool wants_all_ GUARDED_BY(mutex_) = false;
  std::deque<int64_t> wanted_ GUARDED_BY(mutex_);
  std::map<int64_t, OfStep> steps_ GUARDED_BY(mutex_);
  std::deque<int64_t> order_ GUARDED_BY(mutex_);
};

}  // namespace thalweg
