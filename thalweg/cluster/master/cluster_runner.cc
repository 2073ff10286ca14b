// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/master/cluster_runner.h"

#include <algorithm>
#include <utility>

#include "thalweg/cluster/master/channel_step_runner.h"
#include "thalweg/cluster/master/part_registration.h"
#include "thalweg/cluster/master/rpc_step_runner.h"
#include "thalweg/cluster/peers/loop_peers.h"
#include "thalweg/proto/messages.h"
#include "thalweg/session/collective_members.h"

namespace thalweg {

class ClusterPreparedStep : public PreparedStep {
 public:
  explicit ClusterPreparedStep(ClusterRunner& runner)
      : runner_(runner), by_calls_(runner.context_, parts_) {}

  Status Prepare(const PrepareRequest& request) {
    PartRegistration registration(runner_, request);
    ASSIGN_OR_RETURN(PartRegistration::Registered registered, registration.RegisterAll());
    parts_.remote = std::move(registered.remote);
    parts_.exchanges_buffers = registered.exchanges_buffers;
    lacks_members_ = std::move(registered.lacks_members);
    parts_.lacks_members = !lacks_members_.ok();
    if (parts_.lacks_members && runner_.options_.leader_is_named) {
      ASSIGN_OR_RETURN(graph_key_, CollectiveGraphKey(request.parts));
    }
    if (registered.edges != nullptr) {
      through_channels_ = std::make_unique<ChannelStepRunner>(runner_.context_, parts_,
                                                              std::move(registered.channel_parts),
                                                              std::move(registered.edges));
    }
    for (const RemotePart& part : parts_.remote) {
      if (std::ranges::count(parts_.tasks, part.task) == 0) parts_.tasks.push_back(part.task);
    }
    const std::string& self = runner_.context_.peers.self();
    std::vector<StepPartition> here = registration.PartsHere();
    if (!here.empty()) parts_.tasks.push_back(self);
    for (const StepPartition& part : here) {
      std::ranges::move(LoopPeers(*part.step.graph, self), std::back_inserter(parts_.loop_peers));
    }
    return parts_.local.Prepare(runner_.local_, std::move(here), request);
  }

  Status Run(const StepRequest& asked) override {
    if (IsHere()) return parts_.local.Run(asked);
    const StepRequest request = WithKey(asked);
    RETURN_IF_ERROR(CheckMembers(request));
    RETURN_IF_ERROR(runner_.StepBegins());
    Status status = RunnerOf(request).Run(request);
    runner_.StepEnds();
    return status;
  }

  // By calls, which hold no thread.
  void RunAsync(const StepRequest& asked, std::function<void(Status)> done) override {
    if (IsHere()) return parts_.local.RunAsync(asked, std::move(done));
    const StepRequest request = WithKey(asked);
    if (Status lacks = CheckMembers(request); !lacks.ok()) return done(std::move(lacks));
    if (Status refused = runner_.StepBegins(); !refused.ok()) return done(std::move(refused));
    by_calls_.RunAsync(request, [this, done = std::move(done)](Status status) {
      runner_.StepEnds();
      done(std::move(status));
    });
  }

  Result<StepMemory> PlanMemory(std::span<const Tensor> feeds) const override {
    return parts_.local.PlanMemory(feeds);
  }
  std::string Describe() const override {
    std::string text = parts_.local.Describe();
    for (const RemotePart& part : parts_.remote) {
      text += StrCat("on ", part.task, ": graph ", part.graph_handle, "\n");
    }
    return text;
  }

 private:
  bool IsHere() const { return parts_.remote.empty() && !parts_.lacks_members; }
  StepRequest WithKey(StepRequest request) const {
    if (request.collective_graph_key == 0) request.collective_graph_key = graph_key_;
    return request;
  }
  // Members of other sessions' steps come by a key, to a leader whom all of them know.
  Status CheckMembers(const StepRequest& request) const {
    if (!parts_.lacks_members) return OkStatus();
    if (request.collective_graph_key == 0) return lacks_members_;
    if (runner_.options_.leader_is_shared) return OkStatus();
    return FailedPrecondition(
        "a session with device_filters that runs with a collective_graph_key must name its "
        "ConfigProto.experimental.collective_group_leader, as all other sessions do");
  }
  // A task of an older version of ours tells of a step only in answer to calls.
  StepRunner& RunnerOf(const StepRequest& request) {
    if (through_channels_ == nullptr) return by_calls_;
    if (request.stats != nullptr && !through_channels_->knows_traces()) return by_calls_;
    return *through_channels_;
  }

  ClusterRunner& runner_;
  StepParts parts_;
  Status lacks_members_;
  int64_t graph_key_ = 0;  // of a step that lacks members and says no key itself
  RpcStepRunner by_calls_;
  std::unique_ptr<ChannelStepRunner> through_channels_;  // null: a task has no channel
};

ClusterRunner::ClusterRunner(WorkerClients& peers, RpcStepTable& steps, ChannelManager& channels,
                             Health& health, PartitionRunner& local, Options options)
    : local_(local),
      options_(std::move(options)),
      context_{.peers = peers,
               .steps = steps,
               .channels = channels,
               .health = health,
               .timer = *options_.timer,
               .stopping = stopping_,
               .session = options_.session,
               .background = options_.background,
               .cluster = options_.cluster,
               .made = steps.Now()},
      graphs_(peers, options_.device_names, options_.device_incarnations) {
  health.OpenSession(options_.session, options_.tasks);
  steps.collectives()->SetLeader(options_.session, options_.collective_leader);
}

Result<std::unique_ptr<PreparedStep>> ClusterRunner::Prepare(const PrepareRequest& request) {
  auto prepared = std::make_unique<ClusterPreparedStep>(*this);
  RETURN_IF_ERROR(prepared->Prepare(request));
  return std::unique_ptr<PreparedStep>(std::move(prepared));
}

Status ClusterRunner::StepBegins() {
  MutexLock lock(mutex_);
  if (stopped_) return stopping_.Reason();
  ++running_;
  return OkStatus();
}

void ClusterRunner::StepEnds() {
  MutexLock lock(mutex_);
  if (--running_ == 0) changed_.NotifyAll();
}

void ClusterRunner::Cancel(Status reason) {
  stopping_.Cancel(reason);
  local_.Cancel(std::move(reason));
}

void ClusterRunner::Stop(Status reason) {
  {
    MutexLock lock(mutex_);
    if (std::exchange(stopped_, true)) {
      while (running_ > 0) changed_.Wait(mutex_);
      return;
    }
  }
  stopping_.Cancel(reason);
  local_.Stop(std::move(reason));
  {
    MutexLock lock(mutex_);
    while (running_ > 0) changed_.Wait(mutex_);
  }
  context_.channels.steps().RemoveSession(SessionNumber(), Cancelled("Session has been closed."));
  context_.channels.TrimMemory();
  context_.health.CloseSession(options_.session);
  context_.steps.collectives()->ForgetSession(options_.session);
  // Nobody waits for the answers.
  OwnedMessage request(pb::DeleteWorkerSessionRequest::Descriptor());
  request->SetString(pb::DeleteWorkerSessionRequest::kSessionHandle, options_.session);
  for (const std::string& task : options_.tasks) {
    context_.peers.Call(task, "DeleteWorkerSession", *request,
                        pb::DeleteWorkerSessionResponse::Descriptor(),
                        {.timeout = std::chrono::seconds(10)}, [](Result<OwnedMessage>) {});
  }
}

}  // namespace thalweg
