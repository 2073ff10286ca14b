// SPDX-License-Identifier: Apache-2.0
// EventCount: lets a thread sleep until a condition that lock-free code makes true, without a lock
// on the fast path.
//
//   waiter:                                     notifier:
//     EventCount::Key key = events.Prepare();     queue.Push(x);       // make the condition true
//     if (queue.TryPop(&x)) {                     events.NotifyOne();  // few ns: nobody waits
//       events.Cancel();
//     } else {
//       events.Wait(key);                       // then look again: may wake without a reason
//     }
//
// Between Prepare() and Cancel() or Wait() the waiter must look at the condition once more: either
// it sees what the notifier did, or the notifier sees the waiter. (Both sides do a
// read-modify-write on one counter, which orders them.)
// Ownership: outlives every thread that is inside one of its calls.
// Threads: all calls from any thread. A thread prepares for one EventCount at a time.
// Errors: none.
#pragma once

#include <atomic>
#include <cstdint>

#include "thalweg/base/mutex.h"
#include "thalweg/base/no_destructor.h"

namespace thalweg {

class EventCount {
 public:
  using Key = uint64_t;

  Key Prepare() {
    waiters_.fetch_add(1, std::memory_order_acq_rel);
    return epoch_.load(std::memory_order_acquire);
  }
  void Cancel() { waiters_.fetch_sub(1, std::memory_order_acq_rel); }
  void Wait(Key key) EXCLUDES(mutex_) {
    {
      MutexLock lock(mutex_);
      while (epoch_.load(std::memory_order_relaxed) == key) changed_->Wait(mutex_);
    }
    Cancel();
  }

  void NotifyOne() {
    if (SomebodyWaits()) Wake(false);
  }
  void NotifyAll() {
    if (SomebodyWaits()) Wake(true);
  }

 private:
  bool SomebodyWaits() { return waiters_.fetch_add(0, std::memory_order_acq_rel) != 0; }
  void Wake(bool all) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    epoch_.fetch_add(1, std::memory_order_release);
    // Under the lock, so that a woken waiter may destroy this object.
    if (all) {
      changed_->NotifyAll();
    } else {
      changed_->NotifyOne();
    }
  }

  std::atomic<uint32_t> waiters_{0};
  std::atomic<uint64_t> epoch_{0};
  Mutex mutex_;
  NoDestructor<CondVar> changed_;
};

}  // namespace thalweg
