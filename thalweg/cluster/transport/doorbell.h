// SPDX-License-Identifier: Apache-2.0
// Doorbell: the callback of Channel::OnArrival and whether somebody has asked for it.
//
//   bell.Arm();                                            // who receives
//   if (IsSomethingHere() && bell.Disarm()) PollAgain();   // else it parks
//   bell.Notify();                                         // who sends, after it has put it there
//
// Both sides do a full fence between what they write and what they look at, so that one of them
// sees the other.
// Ownership: owns the callback; what that points at lives until another is set.
// Threads: any.
// Errors: none.
#pragma once

#include <atomic>
#include <functional>

#include "thalweg/base/mutex.h"

namespace thalweg {

class Doorbell {
 public:
  // When this returns, the ring before runs no more.
  void Set(std::function<void()> ring) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    ring_ = std::move(ring);
  }
  void Arm() { armed_.exchange(true, std::memory_order_seq_cst); }
  // False: a ring has come, or is coming.
  bool Disarm() { return armed_.exchange(false, std::memory_order_seq_cst); }
  bool armed() const { return armed_.load(std::memory_order_seq_cst); }
  void Notify() EXCLUDES(mutex_) {
    // A read-modify-write, not a load: it orders what was put there before it and takes part in the
    // order of Arm's.
    if (!armed_.exchange(false, std::memory_order_seq_cst)) return;
    MutexLock lock(mutex_);
    if (ring_) ring_();
  }

 private:
  std::atomic<bool> armed_{false};
  Mutex mutex_;
  std::function<void()> ring_ GUARDED_BY(mutex_);
};

}  // namespace thalweg
