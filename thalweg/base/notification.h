// SPDX-License-Identifier: Apache-2.0
// Notification: something happens once; others wait for it.
//
//   Notification done;
//   ScheduleClosure(queue, [&] { done.Notify(); });
//   done.Wait();
//
// Ownership: whoever waits owns it, and may destroy it as soon as Wait() returns.
// Threads: all calls from any thread; Notify() at most once.
// Errors: none; a second Notify() is a bug (CHECK).
// Ordering: what the notifier did before Notify() is visible to whoever saw it notified.
#pragma once

#include <atomic>

#include "thalweg/base/check.h"
#include "thalweg/base/deadline.h"
#include "thalweg/base/mutex.h"

namespace thalweg {

class Notification {
 public:
  void Notify() EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    CHECK(!notified_.load(std::memory_order_relaxed));
    notified_.store(true, std::memory_order_release);
    changed_
        .NotifyAll();  // under the lock: the waiter may destroy this object once it has the lock
  }
  // True promises only that Notify() has begun: to destroy the object, Wait() first.
  bool HasBeenNotified() const { return notified_.load(std::memory_order_acquire); }
  void Wait() EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    while (!HasBeenNotified()) changed_.Wait(mutex_);
  }
  // False when the deadline passed first.
  [[nodiscard]] bool WaitUntil(Clock& clock, Deadline end) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    while (!HasBeenNotified()) {
      if (end.HasPassed(clock)) return false;
      clock.WaitUntil(mutex_, changed_, end.time());
    }
    return true;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::atomic<bool> notified_{false};
};

}  // namespace thalweg
