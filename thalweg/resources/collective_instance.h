// SPDX-License-Identifier: Apache-2.0
// CollectiveInstance: which the members of one collective operation join in one step. Members come
// on any device, each from its own node, those of other tasks through cluster/; the last one brings
// the results for all.
//
//   ASSIGN_OR_RETURN(auto instance, CollectiveInstance::At(*step_resources, call.keys, ctx.tag()));
//   instance->Join({.instances = step_resources}, ctx, std::move(call), std::move(done));
//
// A member's rank is its place in the order of device names (numbers as numbers). Where the devices
// of all compute together (group_collectives.h), results are in their memory; else in the host's.
// Ownership: of the step (its resources): concurrent steps never share one. Members keep it alive.
// Threads: any.
// Errors: the first is everybody's, also of who comes later: InvalidArgument for members that
// contradict each other or come twice, DeadlineExceeded for a member's timeout, the step's reason
// when it is cancelled.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "thalweg/base/timer.h"
#include "thalweg/resources/collective_call.h"
#include "thalweg/resources/waiter_queues.h"

namespace thalweg {

// The clock of members' timeouts, shared by all kernels of an environment.
class CollectiveTimer final : public Resource {
 public:
  explicit CollectiveTimer(std::unique_ptr<Clock> clock) : clock_(std::move(clock)) {}
  std::string DebugString() const override { return "timer of collective operations"; }
  const Clock& clock() const { return *clock_; }
  Timer& timer() { return timer_; }

 private:
  const std::unique_ptr<Clock> clock_;
  Timer timer_{*clock_};
};

// Where a member joins the others, and how long it waits.
struct CollectiveJoinOptions {
  ResourceManager* instances = nullptr;  // of the step
  std::shared_ptr<void> keep;            // lives until the member has ended; may be null
  double timeout_seconds = 0;            // 0: none
  Timer* timer = nullptr;                // of the timeout, with its clock
  const Clock* clock = nullptr;
  bool may_leave = false;  // its cancellation is not the others': somebody else says why, by Fail
};

class CollectiveInstance final : public WaiterQueues {
 public:
  // The one of these keys and this iteration of a loop, made when it is new.
  static Result<RefPtr<CollectiveInstance>> At(ResourceManager& instances,
                                               const CollectiveKeys& keys, uint64_t tag);
  // "" where nobody has come.
  static std::string Describe(ResourceManager& instances, const CollectiveKeys& keys, uint64_t tag);
  // `name`: in the step's resources, which forget it once all of a loop's iteration have joined.
  explicit CollectiveInstance(std::string name)
      : WaiterQueues({Order::kAny}), name_(std::move(name)) {}

  struct Member;
  // Waits for the others; `done` comes with output 0 set, or the error. What it takes is checked
  // (CheckCollectiveValue).
  void Join(CollectiveJoinOptions join, Context& ctx, CollectiveCall call, Done done);
  // "group 1, instance 7 (reduction): 1 of 2 members are here: CPU:0".
  std::string DebugString() const override EXCLUDES(mutex_);
  // Ends all who wait and all who come later, unless everybody has come.
  void Fail(const Status& why) EXCLUDES(mutex_);

 private:
  Progress Advance(Waiter& waiter) override REQUIRES(mutex_);
  void Withdraw(Waiter& waiter) override REQUIRES(mutex_);
  Status Finish(Waiter& waiter) override EXCLUDES(mutex_);
  // Counts the member in, or says why not.
  void Admit(Member& member) REQUIRES(mutex_);
  Status Fits(const CollectiveCall& call) const REQUIRES(mutex_);
  // Whether a broadcast in which all have come has one sender.
  Status CheckSender() const REQUIRES(mutex_);
  Result<Tensor> ResultFor(const Member& member) EXCLUDES(mutex_);
  std::string DescribeLocked() const REQUIRES(mutex_);
  void TimeOut(double seconds) EXCLUDES(mutex_);
  // Nobody needs the values any more.
  void SetFailed(Status why) REQUIRES(mutex_);

  const std::string name_;
  std::vector<CollectiveCall> calls_ GUARDED_BY(mutex_);  // as they came
  size_t size_ GUARDED_BY(mutex_) = 0;                    // of the group; 0 before the first came
  bool complete_ GUARDED_BY(mutex_) = false;
  Status failed_ GUARDED_BY(mutex_);
  // By place in calls_, once complete and computed.
  bool computed_ GUARDED_BY(mutex_) = false;
  Status computing_ GUARDED_BY(mutex_);
  std::vector<Tensor> results_ GUARDED_BY(mutex_);
};

struct CollectiveInstance::Member : Waiter {
  Member(Context& c, Done d, CollectiveCall what)
      : Waiter(0, c, std::move(d)), call(std::move(what)) {}
  void OnEnd() override {
    if (entry.id != 0) join.timer->Remove(entry);
  }

  CollectiveCall call;
  CollectiveJoinOptions join;
  Timer::Entry entry;
  // The instance's, under its lock.
  bool has_come = false;
  size_t place_in_calls = 0;
};

}  // namespace thalweg
