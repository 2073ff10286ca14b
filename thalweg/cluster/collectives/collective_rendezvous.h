// SPDX-License-Identifier: Apache-2.0
// CollectiveRendezvous: that of collective operations whose members are in several tasks. Each
// session has a leader, a task that all members of its steps join: those of that task come by
// themselves, the others by RecvBuf (CollectiveMember), which brings the value and waits for the
// result. StepCollectives: what a step shows its kernels of it.
//
//   rendezvous.SetLeader(session, "/job:worker/replica:0/task:0");
//   step.Join(ctx, call, timeout_seconds, std::move(done));    // of a kernel
//   rendezvous.Answer(request, &cancellation, answered);       // a RecvBuf that arrives
//
// Where tasks of TensorFlow's are members, all hand buffers to each other instead, in their way
// (Exchange). Else the last member computes, as within a task: ranks and bits are the same.
// Instances that nobody waits at are forgotten, but the newest.
// Ownership: outlives its steps; a cancellation lives until its answer.
// Threads: every member from any.
// Errors: everybody's. A member whose call ends before all have come has left: its step ends for a
// reason that its master knows; should the others not hear it within moments, they get Unavailable
// with its name.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "thalweg/base/mutex.h"
#include "thalweg/cluster/collectives/collective_group.h"
#include "thalweg/cluster/collectives/ring_participant.h"
#include "thalweg/cluster/collectives/shared_steps.h"
#include "thalweg/cluster/collectives/step_sequences.h"
#include "thalweg/cluster/peers/worker_clients.h"
#include "thalweg/resources/collective_instance.h"
#include "thalweg/resources/collective_remote.h"
#include "thalweg/session/environment.h"

namespace thalweg {

class CollectiveRendezvous {
 public:
  // Both outlive the rendezvous.
  CollectiveRendezvous(Environment& environment, WorkerClients& peers)
      : environment_(environment),
        peers_(peers),
        groups_(environment, peers),
        sequences_(peers.self()),
        shared_steps_(environment, peers, groups_) {}

  // Who belongs to groups with tasks of TensorFlow's.
  CollectiveGroups& groups() { return groups_; }
  // The numbers of steps whose members are in several sessions.
  StepSequences& sequences() { return sequences_; }
  // What looks after these steps.
  SharedSteps& shared_steps() { return shared_steps_; }
  // The number of the step that begins here with this key; the leader is asked where it must be.
  // One that has never answered this task is waited for, as members wait for each other, until the
  // step's timeout; one that has must answer within seconds.
  // `session_made`: see StepSequences.
  Result<int64_t> BeginStep(uint32_t master, int64_t graph_key, Clock::TimePoint session_made,
                            RpcCallOptions call) EXCLUDES(mutex_);
  // "/job:ps/replica:0/task:0" of a leader as a configuration names it. InvalidArgument.
  static Result<std::string> ParseLeader(std::string_view text);
  // The leader where nobody names one: the first by job and number.
  static std::string FirstOf(std::vector<std::string> tasks);

  // Whom sessions have that name none. Called before the first of them.
  void set_default_leader(std::string task) { default_leader_ = std::move(task); }
  // A later word counts.
  void SetLeader(const std::string& session, std::string task) EXCLUDES(mutex_);
  void ForgetSession(const std::string& session) EXCLUDES(mutex_);
  // Who leads for the session with this number, as steps know it; the server's own, or the first
  // task of the cluster, where nobody has said.
  std::string LeaderOf(uint32_t master) EXCLUDES(mutex_);

  // A member of this task.
  void Join(const std::string& leader, const std::string& step, Context& ctx, CollectiveCall call,
            double timeout_seconds, Done done) EXCLUDES(mutex_);
  // A member of this task in a step whose members hand buffers to each other.
  void Exchange(uint32_t master, std::shared_ptr<BufferTransport> port, Context& ctx,
                CollectiveCall call, double timeout_seconds, Done done) EXCLUDES(mutex_);
  std::string WaitsFor(const std::string& leader, const std::string& step,
                       const CollectiveKeys& keys, uint64_t tag) EXCLUDES(mutex_);

  using Answered = std::function<void(Result<OwnedMessage>)>;
  // A member of another task: a RecvBufRequest that is one. `cancellation` lives until the answer.
  void Answer(const Message& request, CancellationManager* cancellation, Answered done)
      EXCLUDES(mutex_);

 private:
  // The instances of a step.
  std::shared_ptr<ResourceManager> At(const std::string& step) EXCLUDES(mutex_);
  CollectiveJoinOptions JoinOptionsAt(std::shared_ptr<ResourceManager> instances,
                                      double timeout_seconds);
  void Ask(const std::string& leader, const std::string& step, Context& ctx, CollectiveCall call,
           double timeout_seconds, Done done);

  Environment& environment_;
  WorkerClients& peers_;
  CollectiveGroups groups_;
  StepSequences sequences_;
  std::string default_leader_;  // may be empty
  Mutex mutex_;
  std::map<std::string, std::string> leaders_ GUARDED_BY(mutex_);  // by session
  std::set<std::string> met_ GUARDED_BY(mutex_);                   // leaders that have answered
  std::map<std::string, std::weak_ptr<ResourceManager>> steps_ GUARDED_BY(mutex_);
  std::deque<std::shared_ptr<ResourceManager>> newest_ GUARDED_BY(mutex_);
  SharedSteps shared_steps_;  // last: its calls use the others
};

class StepCollectives : public CollectiveRemote {
 public:
  void Join(Context& ctx, CollectiveCall call, double timeout_seconds, Done done) override;
  std::string WaitsFor(const CollectiveKeys& keys, uint64_t tag) override;

 protected:
  // `rendezvous` outlives the step; null: it has none. `name`: the same in all tasks.
  StepCollectives(CollectiveRendezvous* rendezvous, std::string name)
      : rendezvous_(rendezvous), name_(std::move(name)) {}
  ~StepCollectives() = default;

 private:
  // The number of its session, as LeaderOf knows it.
  virtual uint32_t master() = 0;
  // Null: its members join at the leader.
  virtual std::shared_ptr<BufferTransport> buffers() { return nullptr; }

  CollectiveRendezvous* const rendezvous_;
  const std::string name_;
};

}  // namespace thalweg
