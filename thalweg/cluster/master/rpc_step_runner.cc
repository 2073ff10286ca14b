// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/master/rpc_step_runner.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "thalweg/base/entropy.h"
#include "thalweg/base/notification.h"
#include "thalweg/cluster/collectives/step_word.h"
#include "thalweg/cluster/master/step_tracer.h"
#include "thalweg/cluster/master/told_calls.h"
#include "thalweg/cluster/peers/loop_peers.h"
#include "thalweg/proto/messages.h"
#include "thalweg/tensor/tensor_proto.h"

namespace thalweg {
namespace {

// Counts the parts that run down; `none_left` may be null: somebody waits.
class OpenParts {
 public:
  OpenParts(size_t parts, std::function<void()> none_left)
      : open_(parts), none_left_(std::move(none_left)) {}
  void End() EXCLUDES(mutex_) {
    std::function<void()> none_left;
    {
      MutexLock lock(mutex_);
      if (--open_ > 0) return;
      none_left = std::move(none_left_);
      changed_.NotifyAll();
    }
    if (none_left) none_left();
  }
  void Wait() EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    while (open_ > 0) changed_.Wait(mutex_);
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  size_t open_ GUARDED_BY(mutex_);
  std::function<void()> none_left_ GUARDED_BY(mutex_);
};

// What a step has to do with those of other sessions that are one with it.
class Companions {
 public:
  // All outlive it.
  Companions(const std::string& self, SharedSteps& steps, uint32_t session, std::string leader,
             CancellationManager& ends)
      : self_(self),
        steps_(steps),
        session_(session),
        end_([&ends](const Status& why) { ends.Cancel(why); }),
        watch_(steps, {.session = session, .leader = std::move(leader)}, end_) {}

  void Begin(int64_t id, const std::shared_ptr<RpcStepRendezvous>& rendezvous) {
    watch_.Begin(id, [rendezvous] { return rendezvous->Owed(); });
    CancellationManager& elsewhere = rendezvous->cancellation();
    if (!ended_.Begin(&elsewhere, end_)) end_(elsewhere.Reason());
  }
  // Called once, when the step fails; the first to know tells the others.
  void Tell(int64_t id, int64_t graph_key, RpcStepRendezvous& rendezvous, const Status& why) {
    if (rendezvous.was_told()) return;
    told_ = std::make_shared<Notification>();
    word_ = FailedOn(self_, why);
    steps_.Tell({.step = id, .graph_key = graph_key, .failed = word_}, session_,
                [told = told_, word = word_, step = rendezvous.shared_from_this()] {
                  step->LetGo(word);
                  told->Notify();
                });
  }
  // What the others were told, when they know it or half a second has passed (SharedSteps::Tell);
  // ok: nothing. Tell does not run and will not any more.
  Status AwaitTold() {
    if (told_ != nullptr) told_->Wait();
    return word_;
  }

 private:
  const std::string& self_;
  SharedSteps& steps_;
  const uint32_t session_;
  const SharedSteps::Watch::End end_;
  Status word_;
  std::shared_ptr<Notification> told_;
  SharedSteps::Watch watch_;
  ScopedCancellation ended_;
};

}  // namespace

// One step, from its beginning to its end.
struct RpcStepRunner::Step {
  StepRequest request;
  int64_t id = 0;
  std::shared_ptr<RpcStepRendezvous> rendezvous;
  // Ends the calls and what runs here; its reason is the step's first error.
  CancellationManager ends;
  ScopedCancellation aborts;
  ScopedCancellation outside;
  std::optional<OpenParts> open;
  std::optional<StepTracer> tracer;
  std::optional<ToldCalls> told;  // where somebody records it
  std::optional<Health::Watch> watch;
  std::optional<Companions> companions;  // where steps of other sessions are one with it

  Step(const StepRequest& asked, CancellationManager* stopping)
      : request(asked),
        ends(stopping),
        outside(asked.cancellation, [this](const Status& why) { ends.Cancel(why); }) {}

  void Begin(std::shared_ptr<RpcStepRendezvous> begun) {
    rendezvous = std::move(begun);
    if (companions) companions->Begin(id, rendezvous);
    if (!aborts.Begin(&ends, [this](const Status& why) { Abort(why); })) Abort(ends.Reason());
  }
  void Abort(const Status& why) {
    if (companions) companions->Tell(id, request.collective_graph_key, *rendezvous, why);
    rendezvous->Abort(why);
  }
  // A part has ended.
  void End(const Status& status) {
    if (!status.ok()) ends.Cancel(status);
    open->End();
  }
};

bool RpcStepRunner::IsShared() const { return parts_.lacks_members && context_.cluster == nullptr; }

Result<int64_t> RpcStepRunner::NumberOf(Step& step) {
  // Masters share the numbers of steps without asking each other, but where their steps are one.
  if (!parts_.lacks_members) return static_cast<int64_t>(RandomSeed() >> 8 | 1);
  return context_.steps.collectives()->BeginStep(
      MasterOfSession(NumberOfHandle(context_.session)), step.request.collective_graph_key,
      context_.made, {.timeout = step.request.timeout, .cancellation = &step.ends});
}

void RpcStepRunner::EndNumber(const StepRequest& request, int64_t id, bool ok) {
  if (!parts_.lacks_members) return;
  context_.steps.collectives()->sequences().End(request.collective_graph_key, id, ok);
}

Result<std::shared_ptr<RpcStepRunner::Step>> RpcStepRunner::Begin(const StepRequest& request) {
  auto step = std::make_shared<Step>(request, &context_.stopping);
  if (IsShared()) {
    CollectiveRendezvous& collectives = *context_.steps.collectives();
    const uint32_t session = MasterOfSession(NumberOfHandle(context_.session));
    step->companions.emplace(context_.peers.self(), collectives.shared_steps(), session,
                             collectives.LeaderOf(session), step->ends);
  }
  const Result<int64_t> number = NumberOf(*step);
  // Whoever has cancelled the call has said why.
  if (!number.ok()) return step->ends.IsCancelled() ? step->ends.Reason() : number.status();
  step->id = *number;
  Result<std::shared_ptr<RpcStepRendezvous>> begun =
      context_.steps.Begin(step->id, context_.session, context_.cluster);
  if (!begun.ok()) {
    EndNumber(request, step->id, false);
    return begun.status();
  }
  if (parts_.exchanges_buffers) (*begun)->ExchangeBuffers();
  if (IsShared()) (*begun)->Share();
  step->Begin(*std::move(begun));
  return step;
}

Status RpcStepRunner::Run(const StepRequest& request) {
  ASSIGN_OR_RETURN(const std::shared_ptr<Step> step, Begin(request));
  step->open.emplace(parts_.remote.size() + 1, nullptr);
  StartAll(*step);
  step->End(parts_.local.Run(HereRequest(*step)));
  step->open->Wait();
  return End(*step);
}

void RpcStepRunner::RunAsync(const StepRequest& request, std::function<void(Status)> done) {
  if (!parts_.lacks_members) return BeginAsync(request, std::move(done));
  // Its leader, who is asked for the step's number, may not be there yet.
  ScheduleClosure(context_.background(),
                  [this, request, done = std::move(done)] { BeginAsync(request, done); });
}

void RpcStepRunner::BeginAsync(const StepRequest& request, std::function<void(Status)> done) {
  Result<std::shared_ptr<Step>> begun = Begin(request);
  if (!begun.ok()) return done(begun.status());
  const std::shared_ptr<Step> step = *std::move(begun);
  // The callback of a call may be the one that ends the step, whose end waits for callbacks.
  step->open.emplace(parts_.remote.size() + 1, [this, step, done = std::move(done)] {
    ScheduleClosure(context_.background(), [this, step, done] { done(End(*step)); });
  });
  StartAll(*step);
  parts_.local.RunAsync(HereRequest(*step), [step](const Status& status) { step->End(status); });
}

void RpcStepRunner::StartAll(Step& step) {
  std::vector<std::string> tasks;
  for (const RemotePart& part : parts_.remote) tasks.push_back(part.task);
  // What others hear of the end of steps that are one with theirs is SharedSteps' to say.
  if (step.request.is_watched && !step.companions) {
    step.told.emplace(context_.peers, context_.steps, context_.timer, tasks);
    step.told->Begin(step.id, &step.ends);
  }
  step.tracer.emplace(context_.peers, context_.steps, std::move(tasks), step.id, step.request);
  step.watch.emplace(context_.health, WatchedStep(step.id, parts_, step.request),
                     [&step](const Status& why) { step.ends.Cancel(why); });
  for (size_t i = 0; i < parts_.remote.size(); ++i) {
    Start(step, parts_.remote[i], step.tracer->PlaceFor(i));
  }
}

void RpcStepRunner::Start(Step& step, const RemotePart& part, std::optional<OwnedMessage>* stats) {
  namespace Request = pb::RunGraphRequest;
  OwnedMessage request(Request::Descriptor());
  request->SetString(Request::kSessionHandle, context_.session);
  request->SetBool(Request::kCreateWorkerSessionCalled, true);
  request->SetString(Request::kGraphHandle, part.graph_handle);
  request->SetInt(Request::kStepId, step.id);
  request->SetBool(Request::kStoreErrorsInResponseBody, true);
  request->SetInt(Request::kRequestId, static_cast<int64_t>(RandomSeed() | 1));
  Message* const options = request->Mutable(Request::kExecOpts);
  if (stats != nullptr) options->SetBool(pb::ExecutorOpts::kRecordTimeline, true);
  for (const auto& [number, key] : part.feeds) {
    Message* const fed = request->Add(Request::kSend);
    fed->SetString(pb::NamedTensorProto::kName, key);
    const Status status =
        TensorToProto(step.request.feeds[number], fed->Mutable(pb::NamedTensorProto::kTensor));
    if (!status.ok()) return step.End(status);
  }
  for (const auto& [number, key] : part.fetches) request->AddString(Request::kRecvKey, key);
  // No part begins of a step that has failed: only what runs then is waited for.
  const bool is_told = step.told && !step.ends.IsCancelled();
  context_.peers.Call(part.task, "RunGraph", *request, pb::RunGraphResponse::Descriptor(),
                      {.timeout = TimeoutOfWorkers(step.request),
                       .cancellation = is_told ? step.told->cancellation() : &step.ends},
                      [this, &step, &part, stats](Result<OwnedMessage> response) {
                        const Status taken = Take(step, part, response);
                        if (response.ok() && stats != nullptr) stats->emplace(*std::move(response));
                        step.End(taken);
                      });
}

Status RpcStepRunner::Take(const Step& step, const RemotePart& part,
                           const Result<OwnedMessage>& response) {
  namespace Response = pb::RunGraphResponse;
  if (!response.ok()) return context_.health.WithTaskDiagnostics(response.status(), part.task);
  const Message& answer = **response;
  if (const int64_t code = answer.GetInt(Response::kStatusCode); code != 0) {
    return Status(static_cast<Code>(code), StrCat("From ", part.task, ":\n",
                                                  answer.GetString(Response::kStatusErrorMessage)));
  }
  const std::span<Tensor> fetches = step.request.fetches;
  for (const Message* got : answer.Messages(Response::kRecv)) {
    const std::string_view key = got->GetString(pb::NamedTensorProto::kName);
    const auto found = std::find_if(part.fetches.begin(), part.fetches.end(),
                                    [&](const auto& fetch) { return fetch.second == key; });
    if (found == part.fetches.end()) return Internal(part.task, " sent '", key, "' unasked");
    ASSIGN_OR_RETURN(fetches[found->first],
                     TensorFromProto(got->GetMessage(pb::NamedTensorProto::kTensor)));
  }
  for (const auto& [number, key] : part.fetches) {
    if (fetches[number].empty()) return Internal(part.task, " did not send '", key, "'");
  }
  return OkStatus();
}

StepRequest RpcStepRunner::HereRequest(Step& step) const {
  StepRequest here = step.request;
  here.step_id = step.id;
  here.rendezvous = step.rendezvous.get();
  here.collectives = step.rendezvous.get();
  if (!AreAllOurs(context_.peers, parts_.loop_peers)) here.frames = step.rendezvous.get();
  here.cancellation = &step.ends;
  here.timeout = std::chrono::nanoseconds(0);  // the watch's
  return here;
}

// No part runs any more.
Status RpcStepRunner::End(Step& step) {
  step.watch.reset();
  step.outside.End();
  if (step.told) step.told->End();
  Status why;
  if (step.companions) {
    step.aborts.End();
    why = step.companions->AwaitTold();
    if (why.ok()) why = step.ends.Reason();  // as another task has told it
    step.companions.reset();
  }
  Status status = step.ends.Reason();
  step.tracer->Finish();
  Cleanup(step.id, why);
  EndNumber(step.request, step.id, status.ok());
  return status;
}

// Nobody waits for the answers.
void RpcStepRunner::Cleanup(int64_t id, const Status& why) {
  context_.steps.Erase(id, Cancelled("step ", id, " has ended"), why);
  OwnedMessage request(pb::CleanupGraphRequest::Descriptor());
  request->SetInt(pb::CleanupGraphRequest::kStepId, id);
  for (const RemotePart& part : parts_.remote) {
    context_.peers.Call(part.task, "CleanupGraph", *request, pb::CleanupGraphResponse::Descriptor(),
                        {.timeout = std::chrono::seconds(10)}, [](Result<OwnedMessage>) {});
  }
}

}  // namespace thalweg
