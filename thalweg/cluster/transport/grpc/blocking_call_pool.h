// SPDX-License-Identifier: Apache-2.0
// BlockingCallPool: threads for calls that may wait (a step, a set-up call): one for each call that
// is open, kept for the next one. The pool that runs kernels never waits for a call.
//
//   BlockingCallPool threads(1000);
//   RETURN_IF_ERROR(threads.Run([call] { call->Answer(Work()); }));
//
// Ownership: the destructor waits for calls that run.
// Threads: Run from any.
// Errors: ResourceExhausted, with the option that sets it, when all threads are taken.
#pragma once

#include <deque>
#include <functional>
#include <vector>

#include "thalweg/base/mutex.h"
#include "thalweg/base/status.h"
#include "thalweg/base/thread.h"

namespace thalweg {

// What a call hears when `most` others are open (--max-calls).
Status TooManyCalls(int most);

class BlockingCallPool {
 public:
  explicit BlockingCallPool(int most) : most_(most) {}
  BlockingCallPool(const BlockingCallPool&) = delete;
  BlockingCallPool& operator=(const BlockingCallPool&) = delete;
  ~BlockingCallPool();

  // ResourceExhausted when all threads are taken.
  Status Run(std::function<void()> call) EXCLUDES(mutex_);

 private:
  void Loop() EXCLUDES(mutex_);

  const int most_;
  Mutex mutex_;
  CondVar changed_;
  bool stopping_ GUARDED_BY(mutex_) = false;
  int idle_ GUARDED_BY(mutex_) = 0;
  std::deque<std::function<void()>> waiting_ GUARDED_BY(mutex_);
  std::vector<Thread> threads_ GUARDED_BY(mutex_);
};

}  // namespace thalweg
