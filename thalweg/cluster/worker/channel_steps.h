// SPDX-License-Identifier: Apache-2.0
// ChannelSteps: the steps that a task runs and drives through channels. Carries out what the state
// machines say (StepLedger of a worker, StepDriver of a master).
//
//   steps.AddPlan(session, plan, {edges, run});         // registered: START may ask for it
//   Status status = steps.Drive({...});                 // as a master: one step over several tasks
//
// Threads: every member from any; Drive blocks, a part runs on a thread of the hub's. Errors: those
// of the step, with the task where they came up and what it did.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "thalweg/base/clock.h"
#include "thalweg/cluster/master/step_driver.h"
#include "thalweg/cluster/transport/channel_hub.h"
#include "thalweg/cluster/transport/message.h"
#include "thalweg/cluster/worker/channel_account.h"
#include "thalweg/cluster/worker/channel_step.h"
#include "thalweg/cluster/worker/step_ledger.h"
#include "thalweg/tensor/allocator.h"

namespace thalweg {

// What START asks for: runs the part; returns when nothing of it runs any more.
struct ChannelPlan {
  std::shared_ptr<const ChannelEdges> edges;
  std::function<Status(ChannelStep& step, std::chrono::nanoseconds timeout)> run;
};

class DrivenStep;
struct DriveRequest;

class ChannelSteps : public LinkHandler {
 public:
  ChannelSteps(AllocatorPtr allocator, const Clock& clock, uint64_t incarnation);
  ~ChannelSteps() override { Stop(Cancelled("the task is gone")); }

  ChannelHub& hub() { return hub_; }
  const AllocatorPtr& allocator() const { return allocator_; }
  static uint32_t MasterOfSession(uint64_t session) { return session & 0xffffff; }

  uint64_t incarnation() const { return incarnation_; }
  // Where the steps' collective operations meet, which outlives them: set before the first step.
  void set_collectives(CollectiveMeetings* collectives) { collectives_ = collectives; }

  // A session whose steps may come. AlreadyExists: it cannot be told from another. It ends with its
  // owner's channel, if it has one.
  Status AddSession(uint64_t session, const Link* owner = nullptr) EXCLUDES(mutex_);
  void RemoveSession(uint64_t session, const Status& why) EXCLUDES(mutex_);
  // Its steps that are open end; others may follow.
  void EndSteps(uint64_t session, const Status& why) EXCLUDES(mutex_);
  void AddPlan(uint64_t session, uint64_t plan, ChannelPlan made) EXCLUDES(mutex_);
  void RemovePlan(uint64_t session, uint64_t plan) EXCLUDES(mutex_);

  Status Drive(const DriveRequest& request) EXCLUDES(mutex_);
  uint64_t num_driven() const { return num_driven_.load(std::memory_order_relaxed); }

  // The steps that are open, for people and heartbeats.
  std::vector<ChannelStepAccount> Describe() EXCLUDES(mutex_);

  // Called now and then while there are channels, and no more after Stop.
  void SetIdleWork(std::function<void()> work) EXCLUDES(mutex_);
  // Ends all steps, closes all channels.
  void Stop(const Status& why) EXCLUDES(mutex_);

  void OnControl(Link& link, std::string_view message) override;
  Result<Tensor> OnHead(Link& link, const TensorHead& head) override;
  void OnTensor(Link& link, const TensorHead& head, Tensor tensor) override;
  void OnClosed(Link& link, const Status& why) override;

 private:
  struct Session {
    uint64_t handle = 0;
    const Link* owner = nullptr;
    uint64_t next_step = 1;
    std::set<uint64_t> open;  // numbers of the steps that this task drives
    std::unordered_map<uint64_t, std::shared_ptr<const ChannelPlan>> plans;
  };
  struct Step {
    std::shared_ptr<ChannelStep> meeting;
    Link* master = nullptr;  // null: early, or this task
    StepTime since{};
    bool started = false;  // who runs or drives it erases it
  };

  StepTime Now() const { return clock_.Now().time_since_epoch(); }
  void Handle(Link& link, const StartMessage& start) EXCLUDES(mutex_);
  void Handle(Link& link, const DoneMessage& done) EXCLUDES(mutex_);
  void Handle(Link& link, const FailMessage& fail) EXCLUDES(mutex_);
  void Handle(Link& link, const CancelMessage& cancel) EXCLUDES(mutex_);
  void RunPart(const std::shared_ptr<Link>& link, const StartMessage& start) EXCLUDES(mutex_);
  Status RunPlan(const StartMessage& start, const std::shared_ptr<ChannelStep>& meeting)
      EXCLUDES(mutex_);
  std::shared_ptr<ChannelStep> Meeting(uint64_t step) REQUIRES(mutex_);
  void Carry(const StepReaction& reaction) EXCLUDES(mutex_);
  static void Answer(Link& master, const StepReaction& reaction);
  void CarryAll(const std::vector<StepReaction>& reactions) EXCLUDES(mutex_);
  Result<std::shared_ptr<DrivenStep>> Open(const DriveRequest& request, uint64_t* lowest_open)
      EXCLUDES(mutex_);
  void CloseStep(uint64_t session, uint64_t step, const Status& status) EXCLUDES(mutex_);
  std::shared_ptr<DrivenStep> FindDriven(uint64_t step) EXCLUDES(mutex_);
  void Tick() EXCLUDES(mutex_);

  const AllocatorPtr allocator_;
  const Clock& clock_;
  const uint64_t incarnation_;
  CollectiveMeetings* collectives_ = nullptr;
  std::atomic<uint64_t> num_driven_{0};
  Mutex mutex_;
  std::function<void()> idle_work_ GUARDED_BY(mutex_);
  StepLedger ledger_ GUARDED_BY(mutex_);
  std::unordered_map<uint32_t, Session> sessions_ GUARDED_BY(mutex_);
  std::unordered_map<uint64_t, Step> steps_ GUARDED_BY(mutex_);
  std::unordered_map<uint64_t, std::shared_ptr<DrivenStep>> driven_ GUARDED_BY(mutex_);
  ChannelHub hub_;
};

}  // namespace thalweg
