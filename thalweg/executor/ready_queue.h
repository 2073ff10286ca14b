// SPDX-License-Identifier: Apache-2.0
// ReadyQueue: what the threads of one step hand each other: heavy units that are ready,
// asynchronous kernels that have ended, and parts of a kernel's loop. Everything else a thread
// keeps to itself.
//
// Ownership: the step's; what is pushed belongs to the step too.
// Threads: all calls from any thread; Park() by the step's caller only. A thread that adds
// something for the last time touches the queue under its lock only, so the caller may destroy the
// queue once it has taken what was added. A step without a caller says by OnPush() who comes
// instead; that is called under the lock too, for the same reason, and takes no lock of the step's.
// Errors: none; the Status of a kernel that has ended is passed on.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "thalweg/base/idle_poller.h"
#include "thalweg/base/mutex.h"
#include "thalweg/base/status.h"
#include "thalweg/base/work_queue.h"

namespace thalweg {

struct Iteration;
struct AsyncState;

struct Activation {
  Iteration* iteration = nullptr;
  uint32_t unit = 0;
};

struct Ended {
  AsyncState* state = nullptr;
  Status status;
};

class ReadyQueue {
 public:
  void Push(Activation activation) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    ready_.push_back(activation);
    size_.fetch_add(1, std::memory_order_release);
    Tell();
  }
  void PushEnded(AsyncState* state, Status status) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    ended_.push_back({state, std::move(status)});
    size_.fetch_add(1, std::memory_order_release);
    Tell();
  }
  void PushTask(Task task) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    tasks_.push_back(task);
    size_.fetch_add(1, std::memory_order_release);
    Tell();
  }
  // The step is over, says its caller.
  void FinishAlone() { finished_.store(true, std::memory_order_relaxed); }
  // The step is over, says any thread.
  void Finish() EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    finished_.store(true, std::memory_order_release);
    WakeCaller();
  }
  bool finished() const { return finished_.load(std::memory_order_acquire); }
  bool MayHaveWork() const { return size_.load(std::memory_order_acquire) != 0; }

  enum class Found : uint8_t { kNothing, kUnit, kEndedKernel, kTask };
  // Sets what it has found. The oldest unit first.
  Found Pop(Activation* activation, Ended* ended, Task* task) EXCLUDES(mutex_) {
    if (!MayHaveWork()) return Found::kNothing;
    MutexLock lock(mutex_);
    if (!ended_.empty()) {
      *ended = std::move(ended_.back());
      ended_.pop_back();
      size_.fetch_sub(1, std::memory_order_relaxed);
      return Found::kEndedKernel;
    }
    if (!tasks_.empty()) {
      *task = tasks_.back();
      tasks_.pop_back();
      size_.fetch_sub(1, std::memory_order_relaxed);
      return Found::kTask;
    }
    if (taken_ == ready_.size()) return Found::kNothing;
    *activation = ready_[taken_++];
    if (2 * taken_ >= ready_.size()) {
      ready_.erase(ready_.begin(), ready_.begin() + static_cast<ptrdiff_t>(taken_));
      taken_ = 0;
    }
    size_.fetch_sub(1, std::memory_order_relaxed);
    return Found::kUnit;
  }

  // Sleeps until there is work or the end.
  void Park() EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    parked_ = true;
    while (!finished() && !MayHaveWork()) wake_.Wait(mutex_);
    parked_ = false;
  }

  // The caller does `work` until there is something, or the end.
  void WorkIn(IdlePoller& work) EXCLUDES(mutex_) {
    SetWork(&work);
    work.WorkUntil([this] { return finished() || MayHaveWork(); });
    SetWork(nullptr);
  }

  // Called, with the lock held, whenever something was added. Between steps; null: nobody is.
  void OnPush(void (*call)(void* object), void* object) {
    on_push_ = call;
    on_push_object_ = object;
  }

  // For the next step.
  void Reset() { finished_.store(false, std::memory_order_relaxed); }
  // Returns when whoever called Finish() has let go of the lock.
  void AwaitFinisher() EXCLUDES(mutex_) { MutexLock lock(mutex_); }

 private:
  void SetWork(IdlePoller* work) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    work_ = work;
  }
  void Tell() REQUIRES(mutex_) {
    WakeCaller();
    if (on_push_ != nullptr) on_push_(on_push_object_);
  }
  void WakeCaller() REQUIRES(mutex_) {
    if (parked_) wake_.NotifyOne();
    if (work_ != nullptr) work_->Wake();
  }

  void (*on_push_)(void* object) = nullptr;
  void* on_push_object_ = nullptr;
  std::atomic<int32_t> size_{0};
  std::atomic<bool> finished_{false};
  Mutex mutex_;
  CondVar wake_;
  // Those before `taken_` have left; half of the memory at most is theirs.
  std::vector<Activation> ready_ GUARDED_BY(mutex_);
  size_t taken_ GUARDED_BY(mutex_) = 0;
  std::vector<Ended> ended_ GUARDED_BY(mutex_);
  std::vector<Task> tasks_ GUARDED_BY(mutex_);
  bool parked_ GUARDED_BY(mutex_) = false;
  IdlePoller* work_ GUARDED_BY(mutex_) = nullptr;  // the caller does it
};

}  // namespace thalweg
