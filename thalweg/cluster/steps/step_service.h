// SPDX-License-Identifier: Apache-2.0
// StepService: the steps that a task runs and drives through channels. Carries out what the state
// machines say (WorkerStepState of a worker, CoordinatorState of a master).
//
//   steps.AddPlan(session, plan, {edges, run});         // registered: START may ask for it
//   Status status = steps.Coordinate({.session = session, .parts = parts, .fetches = fetches});
//
// Ownership: what a step is asked with lives until Coordinate returns.
// Threads: every member from any; Coordinate blocks, a part runs on a thread of the hub's.
// Errors: those of the step, with the task where they came up and what it did.
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
#include "thalweg/cluster/steps/channel_rendezvous.h"
#include "thalweg/cluster/steps/coordinator_state.h"
#include "thalweg/cluster/steps/echoes.h"
#include "thalweg/cluster/steps/step_snapshot.h"
#include "thalweg/cluster/steps/worker_step_state.h"
#include "thalweg/cluster/transport/channel_hub.h"
#include "thalweg/cluster/transport/message.h"
#include "thalweg/tensor/allocator.h"

namespace thalweg {

// How START wants a part to be run.
struct PartRun {
  std::chrono::nanoseconds timeout{0};  // 0: none
  TraceWish trace = {};
  std::string told = {};  // set by a part that was asked for it: its trace
};

// What START asks for: runs the part; returns when nothing of it runs any more.
struct ChannelPlan {
  std::shared_ptr<const ChannelEdges> edges;
  std::function<Status(ChannelRendezvous& step, PartRun& how)> run;
};

class StepCoordinator;
struct CoordinateRequest;

class StepService : public ConnectionHandler {
 public:
  StepService(AllocatorPtr allocator, const Clock& clock, uint64_t incarnation);
  ~StepService() override { Stop(Cancelled("the task is gone")); }

  ChannelHub& hub() { return hub_; }
  Echoes& echoes() { return echoes_; }
  const AllocatorPtr& allocator() const { return allocator_; }

  uint64_t incarnation() const { return incarnation_; }
  // The rendezvous of the steps' collective operations outlives them: set before the first step.
  void set_collectives(CollectiveRendezvous* collectives) { collectives_ = collectives; }

  // A session whose steps may come. AlreadyExists: it cannot be told from another. It ends with its
  // owner's channel, if it has one.
  Status AddSession(uint64_t session, const Connection* owner = nullptr) EXCLUDES(mutex_);
  void RemoveSession(uint64_t session, const Status& why) EXCLUDES(mutex_);
  // Its steps that are open end; others may follow.
  void EndSteps(uint64_t session, const Status& why) EXCLUDES(mutex_);
  void AddPlan(uint64_t session, uint64_t plan, ChannelPlan made) EXCLUDES(mutex_);
  void RemovePlan(uint64_t session, uint64_t plan) EXCLUDES(mutex_);

  Status Coordinate(const CoordinateRequest& request) EXCLUDES(mutex_);
  uint64_t num_coordinated() const { return num_coordinated_.load(std::memory_order_relaxed); }

  // The steps that are open, for people and heartbeats.
  std::vector<StepSnapshot> Describe() EXCLUDES(mutex_);

  // Called now and then while there are channels, and no more after Stop.
  void SetIdleWork(std::function<void()> work) EXCLUDES(mutex_);
  // Ends all steps, closes all channels.
  void Stop(const Status& why) EXCLUDES(mutex_);

  void OnControl(Connection& connection, std::string_view message) override;
  Result<Tensor> OnHead(Connection& connection, const TensorHead& head) override;
  void OnTensor(Connection& connection, const TensorHead& head, Tensor tensor) override;
  void OnClosed(Connection& connection, const Status& why) override;

 private:
  struct Session {
    uint64_t handle = 0;
    const Connection* owner = nullptr;
    uint64_t next_step = 1;
    std::set<uint64_t> open;  // numbers of the steps that this task drives
    std::unordered_map<uint64_t, std::shared_ptr<const ChannelPlan>> plans;
  };
  struct Step {
    std::shared_ptr<ChannelRendezvous> rendezvous;
    Connection* master = nullptr;  // null: early, or this task
    StepTime since{};
    bool started = false;  // who runs or drives it erases it
  };

  StepTime Now() const { return clock_.Now().time_since_epoch(); }
  void Handle(Connection& connection, const StartMessage& start) EXCLUDES(mutex_);
  void Handle(Connection& connection, const DoneMessage& done) EXCLUDES(mutex_);
  void Handle(Connection& connection, const FailMessage& fail) EXCLUDES(mutex_);
  void Handle(Connection& connection, const CancelMessage& cancel) EXCLUDES(mutex_);
  void Handle(Connection& connection, const EchoMessage& echo) { echoes_.Hear(connection, echo); }
  void RunPart(const std::shared_ptr<Connection>& connection, const StartMessage& start)
      EXCLUDES(mutex_);
  Status RunPlan(const StartMessage& start, const std::shared_ptr<ChannelRendezvous>& rendezvous,
                 PartRun* how) EXCLUDES(mutex_);
  // What the part tells of its run goes to its master, and says that it is done where failures are
  // not traced.
  Status PushTrace(const std::shared_ptr<Connection>& master, const StartMessage& start,
                   const std::string& told) const;
  std::shared_ptr<ChannelRendezvous> RendezvousOf(uint64_t step) REQUIRES(mutex_);
  void NoRoom(Connection& connection, const TensorHead& head, const Status& status)
      EXCLUDES(mutex_);
  void Carry(const StepReaction& reaction) EXCLUDES(mutex_);
  static void Answer(Connection& master, const StepReaction& reaction);
  void CarryAll(const std::vector<StepReaction>& reactions) EXCLUDES(mutex_);
  Result<std::shared_ptr<StepCoordinator>> Open(const CoordinateRequest& request,
                                                uint64_t* lowest_open) EXCLUDES(mutex_);
  void CloseStep(uint64_t session, uint64_t step, const Status& status) EXCLUDES(mutex_);
  std::shared_ptr<StepCoordinator> FindCoordinated(uint64_t step) EXCLUDES(mutex_);
  void Tick() EXCLUDES(mutex_);

  const AllocatorPtr allocator_;
  const Clock& clock_;
  const uint64_t incarnation_;
  CollectiveRendezvous* collectives_ = nullptr;
  std::atomic<uint64_t> num_coordinated_{0};
  Mutex mutex_;
  std::function<void()> idle_work_ GUARDED_BY(mutex_);
  WorkerStepState worker_state_ GUARDED_BY(mutex_);
  std::unordered_map<uint32_t, Session> sessions_ GUARDED_BY(mutex_);
  std::unordered_map<uint64_t, Step> steps_ GUARDED_BY(mutex_);
  std::unordered_map<uint64_t, std::shared_ptr<StepCoordinator>> coordinated_ GUARDED_BY(mutex_);
  ChannelHub hub_;
  Echoes echoes_{hub_};
};

}  // namespace thalweg
