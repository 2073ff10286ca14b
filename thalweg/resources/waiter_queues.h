// SPDX-License-Identifier: Apache-2.0
// WaiterQueues: a resource at which calls of asynchronous kernels wait in lines, first come first
// served, without holding a thread. Base of queues, barriers, accumulators, staging areas, mutexes,
// collective operations.
//
//   struct Take : Waiter { using Waiter::Waiter; };
//   class Shelf : public WaiterQueues {
//     Progress Advance(Waiter& w) override;     // takes what is there
//   };
//   shelf->Join(std::make_unique<Take>(kTakers, ctx, std::move(done)));
//
// A waiter leaves its line when Advance says that it has ended, or when its step is cancelled: then
// Withdraw gives back what it had taken. Each Done is called once, with no lock held.
// Ownership: a waiter keeps its resource alive.
// Threads: all public members from any thread.
// Errors: come to Done: the waiter's status, or the reason of its step's cancellation.
#pragma once

#include <list>
#include <memory>
#include <vector>

#include "thalweg/base/mutex.h"
#include "thalweg/kernel/kernel.h"
#include "thalweg/tensor/resource.h"

namespace thalweg {

class WaiterQueues;

// One call that waits. Its inputs and outputs are ctx's.
struct Waiter {
  Waiter(size_t l, Context& c, Done d) : line(l), ctx(c), done(std::move(d)) {}
  virtual ~Waiter() = default;
  // Without the lock, just before Done, however the call ended: lets go of what may call it.
  virtual void OnEnd() {}

  const size_t line;
  Context& ctx;
  Done done;
  Status status;  // what Done will say

  // Of WaiterQueues, under its lock.
  RefPtr<Resource> home;
  std::list<std::unique_ptr<Waiter>>::iterator place;
  bool in_line = false;
  ScopedCancellation cancellation;
};

class WaiterQueues : public Resource {
 public:
  // Puts the waiter at the end of its line and lets everybody go on who can.
  void Join(std::unique_ptr<Waiter> waiter) EXCLUDES(mutex_);

 protected:
  enum class Progress { kNone, kSome, kEnded };
  // Whom a change lets go on: the first of a line alone, or any of it.
  enum class Order { kFirst, kAny };
  using Ended = std::vector<std::unique_ptr<Waiter>>;

  explicit WaiterQueues(std::vector<Order> lines)
      : orders_(std::move(lines)), lines_(orders_.size()) {}
  ~WaiterQueues() override = default;

  // Goes on with one waiter as far as things allow. kEnded: its status is set.
  virtual Progress Advance(Waiter& waiter) REQUIRES(mutex_) = 0;
  // Gives back what a waiter that is cancelled has taken.
  virtual void Withdraw(Waiter&) REQUIRES(mutex_) {}
  // The rest of a call that ended well, without the lock: makes outputs.
  virtual Status Finish(Waiter&) EXCLUDES(mutex_) { return OkStatus(); }

  bool IsEmpty(size_t line) const REQUIRES(mutex_) { return lines_[line].empty(); }
  // After a change: moves waiters that can end to `ended`, which End() must get without the lock.
  void AdvanceAll(Ended* ended) REQUIRES(mutex_);
  // Ends all of a line with this status, as if cancelled.
  void FailAll(size_t line, const Status& why, Ended* ended) REQUIRES(mutex_);
  void End(Ended ended) EXCLUDES(mutex_);

  mutable Mutex mutex_;

 private:
  using Line = std::list<std::unique_ptr<Waiter>>;
  void Leave(Waiter& waiter, Ended* ended) REQUIRES(mutex_);
  bool AdvanceIn(size_t line, Ended* ended) REQUIRES(mutex_);
  void Cancel(Waiter* waiter, const Status& why) EXCLUDES(mutex_);

  const std::vector<Order> orders_;
  std::vector<Line> lines_ GUARDED_BY(mutex_);
};

}  // namespace thalweg
