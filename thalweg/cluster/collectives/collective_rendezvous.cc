// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/collectives/collective_rendezvous.h"

#include <algorithm>
#include <utility>

#include "thalweg/cluster/collectives/collective_member.h"
#include "thalweg/cluster/transport/message.h"
#include "thalweg/kernel/kernel_execution.h"
#include "thalweg/proto/messages.h"

namespace thalweg {
namespace {

// So many steps are remembered whose members have ended, so that one too many hears so.
constexpr size_t kRememberedSteps = 256;
// The master of a step whose member has left tells the others earlier why.
constexpr std::chrono::seconds kLeaving{1};
// A leader that is there answers within this.
constexpr std::chrono::seconds kAnswering{10};

// A member of another task, as the call that waits for its result.
class RemoteMember final : DoneSink {
 public:
  RemoteMember(Environment& environment, CancellationManager* cancellation,
               CollectiveRendezvous::Answered answered)
      : environment_(environment),
        answered_(std::move(answered)),
        work_(environment.isa(), &environment.queue(), *environment.allocator(), nullptr) {
    step_.device = environment.devices().front().get();
    step_.allocator = environment.allocator().get();
    step_.work = &work_;
    step_.queue = &environment.queue();
    step_.cancellation = cancellation != nullptr ? cancellation : &own_;
    context_.SetBase(0, &result_);
    context_.SetOperands(&operand_, 0, 1);
  }

  // Ends with the answer, and is gone.
  static void Join(std::unique_ptr<RemoteMember> self, CollectiveJoinOptions join,
                   CollectiveMember member) {
    RemoteMember* const remote = self.release();
    remote->device_ = member.call.device.ToString();
    remote->context_.Bind(&remote->step_, member.tag);
    Done done(remote, 0);
    const auto instance = CollectiveInstance::At(*join.instances, member.call.keys, member.tag);
    if (!instance.ok()) return std::move(done)(instance.status());
    remote->instance_ = *instance;
    (*instance)->Join(std::move(join), remote->context_, std::move(member.call), std::move(done));
  }

 private:
  void OnDone(uint64_t, Status status) override {
    const std::unique_ptr<RemoteMember> self(this);
    if (status.ok()) return answered_(EncodeCollectiveResult(result_));
    if (step_.cancellation->IsCancelled()) Leave(status);
    answered_(status);
  }
  // The timer drops what is not due when the environment ends.
  void Leave(const Status& why) {
    const Status left = Unavailable(device_, " has left before all members of a collective ",
                                    "operation had come: ", why.message());
    environment_.timer().Add(Deadline::After(environment_.clock(), kLeaving),
                             [instance = instance_, left] { instance->Fail(left); });
  }

  Environment& environment_;
  CollectiveRendezvous::Answered answered_;
  CancellationManager own_;
  KernelExecution work_;
  StepContext step_;
  Context context_;
  Tensor result_;
  const Operand operand_ = Operand::Make(0, 0);
  std::string device_;
  RefPtr<CollectiveInstance> instance_;
};

// A kernel whose member exchanges buffers: what else ends its part of the step ends it, and with it
// all members of the step.
class ExchangingKernel final : DoneSink {
 public:
  // Calls `done` with the first word on it.
  static Done Make(CancellationManager* cancellation, std::shared_ptr<BufferTransport> port,
                   Done done) {
    auto* const kernel = new ExchangingKernel(std::move(done));
    Done ends(kernel, 0);
    const bool begun =
        kernel->cancelled_.Begin(cancellation, [port](const Status& why) { port->Abort(why); });
    if (!begun) port->Abort(cancellation->Reason());
    return ends;
  }

 private:
  explicit ExchangingKernel(Done done) : done_(std::move(done)) {}
  void OnDone(uint64_t, Status status) override {
    const std::unique_ptr<ExchangingKernel> self(this);
    cancelled_.End();
    std::move(done_)(std::move(status));
  }

  Done done_;
  ScopedCancellation cancelled_;
};

}  // namespace

Result<std::string> CollectiveRendezvous::ParseLeader(std::string_view text) {
  const Result<DeviceName> name = DeviceName::Parse(text);
  if (!name.ok()) return name.status().WithContext("collective_group_leader");
  if (!name->job || !name->task) {
    return InvalidArgument(
        "collective_group_leader must name a task such as "
        "\"/job:worker/replica:0/task:0\", got \"",
        text, "\"");
  }
  return TaskName(*name->job, *name->task);
}

std::string CollectiveRendezvous::FirstOf(std::vector<std::string> tasks) {
  const auto place = [](const std::string& task) {
    const Result<DeviceName> name = DeviceName::Parse(task);
    return name.ok() ? std::pair(name->job.value_or(""), name->task.value_or(0))
                     : std::pair(task, 0);
  };
  return *std::min_element(
      tasks.begin(), tasks.end(),
      [&](const std::string& a, const std::string& b) { return place(a) < place(b); });
}

void CollectiveRendezvous::SetLeader(const std::string& session, std::string task) {
  MutexLock lock(mutex_);
  leaders_[session] = std::move(task);
}

void CollectiveRendezvous::ForgetSession(const std::string& session) {
  groups_.Forget(MasterOfSession(NumberOfHandle(session)));
  MutexLock lock(mutex_);
  leaders_.erase(session);
}

std::string CollectiveRendezvous::LeaderOf(uint32_t master) {
  {
    MutexLock lock(mutex_);
    for (const auto& [session, leader] : leaders_) {
      if (MasterOfSession(NumberOfHandle(session)) == master) return leader;
    }
  }
  if (!default_leader_.empty()) return default_leader_;
  std::vector<std::string> tasks = peers_.Others();
  tasks.push_back(peers_.self());
  return FirstOf(std::move(tasks));
}

Result<int64_t> CollectiveRendezvous::BeginStep(uint32_t master, int64_t graph_key,
                                                Clock::TimePoint session_made,
                                                RpcCallOptions call) {
  const std::string leader = LeaderOf(master);
  if (leader == peers_.self()) return sequences_.Begin(graph_key, nullptr, session_made);
  {
    MutexLock lock(mutex_);
    call.wait_for_ready = !met_.contains(leader);
  }
  const bool is_patient = call.timeout.count() == 0 || call.timeout > kAnswering;
  if (!call.wait_for_ready && is_patient) call.timeout = kAnswering;
  const auto ask = [&]() -> Result<int64_t> {
    namespace Response = pb::GetStepSequenceResponse;
    OwnedMessage request(pb::GetStepSequenceRequest::Descriptor());
    request->AddInt(pb::GetStepSequenceRequest::kGraphKey, graph_key);
    ASSIGN_OR_RETURN(const OwnedMessage response, peers_.Call(leader, "GetStepSequence", *request,
                                                              Response::Descriptor(), call));
    {
      MutexLock lock(mutex_);
      met_.insert(leader);
    }
    for (const Message* sequence : response->Messages(Response::kStepSequence)) {
      const int64_t next = sequence->GetInt(pb::StepSequence::kNextStepId);
      if (sequence->GetInt(pb::StepSequence::kGraphKey) == graph_key && next != 0) return next;
    }
    return Internal(leader, " knows no step of this key");
  };
  return sequences_.Begin(graph_key, ask, session_made);
}

std::shared_ptr<ResourceManager> CollectiveRendezvous::At(const std::string& step) {
  std::shared_ptr<ResourceManager> dropped;  // goes without the lock
  MutexLock lock(mutex_);
  std::weak_ptr<ResourceManager>& known = steps_[step];
  if (std::shared_ptr<ResourceManager> found = known.lock(); found != nullptr) return found;
  auto made = std::make_shared<ResourceManager>();
  known = made;
  newest_.push_back(made);
  if (newest_.size() <= kRememberedSteps) return made;
  dropped = std::move(newest_.front());
  newest_.pop_front();
  // Those that nobody waits at go. This is done seldom, as it looks at all.
  if (steps_.size() > 2 * newest_.size() + kRememberedSteps) {
    std::erase_if(steps_, [](const auto& entry) { return entry.second.expired(); });
  }
  return made;
}

CollectiveJoinOptions CollectiveRendezvous::JoinOptionsAt(
    std::shared_ptr<ResourceManager> instances, double timeout_seconds) {
  CollectiveJoinOptions join;
  join.instances = instances.get();
  join.keep = std::move(instances);
  join.timeout_seconds = timeout_seconds;
  join.timer = &environment_.timer();
  join.clock = &environment_.clock();
  return join;
}

void CollectiveRendezvous::Join(const std::string& leader, const std::string& step, Context& ctx,
                                CollectiveCall call, double timeout_seconds, Done done) {
  if (leader != peers_.self()) {
    return Ask(leader, step, ctx, std::move(call), timeout_seconds, std::move(done));
  }
  CollectiveJoinOptions join = JoinOptionsAt(At(step), timeout_seconds);
  const auto instance = CollectiveInstance::At(*join.instances, call.keys, ctx.tag());
  if (!instance.ok()) return std::move(done)(instance.status());
  (*instance)->Join(std::move(join), ctx, std::move(call), std::move(done));
}

void CollectiveRendezvous::Ask(const std::string& leader, const std::string& step, Context& ctx,
                               CollectiveCall call, double timeout_seconds, Done done) {
  CollectiveMember member{step, ctx.tag(), timeout_seconds, std::move(call)};
  const Result<OwnedMessage> request = EncodeCollectiveMember(member);
  if (!request.ok()) return std::move(done)(request.status());
  member.call.value = Tensor();
  // Shared: a callback can be copied.
  const auto shared = std::make_shared<Done>(std::move(done));
  peers_.Call(leader, "RecvBuf", **request, pb::RecvBufResponse::Descriptor(),
              {.cancellation = ctx.step().cancellation},
              [&ctx, shared, call = std::move(member.call)](Result<OwnedMessage> response) {
                const CancellationManager& cancellation = *ctx.step().cancellation;
                if (!response.ok()) {
                  return std::move(*shared)(cancellation.IsCancelled() ? cancellation.Reason()
                                                                       : response.status());
                }
                Result<Tensor> result = DecodeCollectiveResult(**response, call, &ctx.allocator());
                if (!result.ok()) return std::move(*shared)(result.status());
                ctx.set_output(0, *std::move(result));
                return std::move(*shared)(OkStatus());
              });
}

void CollectiveRendezvous::Exchange(uint32_t master, std::shared_ptr<BufferTransport> port,
                                    Context& ctx, CollectiveCall call, double timeout_seconds,
                                    Done done) {
  if (ctx.tag() != 0) {
    return std::move(done)(
        Unimplemented("collective operations in loops, where members are in several sessions or "
                      "on tasks of TensorFlow's: group ",
                      call.keys.group_key, ", instance ", call.keys.instance_key));
  }
  const std::string leader = LeaderOf(master);
  const CollectiveCall asked = call;
  // Shared: a callback can be copied.
  const auto shared = std::make_shared<Done>(
      ExchangingKernel::Make(ctx.step().cancellation, port, std::move(done)));
  CancellationManager& ends = port->cancellation();
  groups_.Find(master, leader, asked, &ends,
               [this, shared, port = std::move(port), &ctx, call = std::move(call),
                timeout_seconds](Result<CollectiveGroups::Found> found) {
                 if (!found.ok()) {
                   const CancellationManager& cancellation = port->cancellation();
                   return std::move(*shared)(cancellation.IsCancelled() ? cancellation.Reason()
                                                                        : found.status());
                 }
                 RingParticipant::Start(port, *std::move(found),
                                        {.seconds = timeout_seconds,
                                         .timer = &environment_.timer(),
                                         .clock = &environment_.clock()},
                                        ctx, call, std::move(*shared));
               });
}

std::string CollectiveRendezvous::WaitsFor(const std::string& leader, const std::string& step,
                                           const CollectiveKeys& keys, uint64_t tag) {
  if (leader != peers_.self()) {
    return StrCat("group ", keys.group_key, ", instance ", keys.instance_key, ", whose ",
                  keys.group_size, " members join at ", leader);
  }
  return CollectiveInstance::Describe(*At(step), keys, tag);
}

void CollectiveRendezvous::Answer(const Message& request, CancellationManager* cancellation,
                                  Answered done) {
  Result<CollectiveMember> member = DecodeCollectiveMember(request, environment_.allocator().get());
  if (!member.ok()) return done(member.status());
  CollectiveJoinOptions join = JoinOptionsAt(At(member->step), member->timeout_seconds);
  join.may_leave = true;
  RemoteMember::Join(std::make_unique<RemoteMember>(environment_, cancellation, std::move(done)),
                     std::move(join), *std::move(member));
}

void StepCollectives::Join(Context& ctx, CollectiveCall call, double timeout_seconds, Done done) {
  if (rendezvous_ == nullptr) {
    return std::move(done)(Unimplemented("this step has no collective operations over tasks"));
  }
  if (std::shared_ptr<BufferTransport> port = buffers(); port != nullptr) {
    return rendezvous_->Exchange(master(), std::move(port), ctx, std::move(call), timeout_seconds,
                                 std::move(done));
  }
  rendezvous_->Join(rendezvous_->LeaderOf(master()), name_, ctx, std::move(call), timeout_seconds,
                    std::move(done));
}

std::string StepCollectives::WaitsFor(const CollectiveKeys& keys, uint64_t tag) {
  if (rendezvous_ == nullptr) return "";
  if (buffers() != nullptr) {
    return StrCat("group ", keys.group_key, ", instance ", keys.instance_key, ", whose ",
                  keys.group_size, " members are led by ", rendezvous_->LeaderOf(master()));
  }
  return rendezvous_->WaitsFor(rendezvous_->LeaderOf(master()), name_, keys, tag);
}

}  // namespace thalweg
