// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/worker/channel_steps.h"

#include <utility>

#include "thalweg/cluster/worker/driven_step.h"

namespace thalweg {

ChannelSteps::ChannelSteps(AllocatorPtr allocator, const Clock& clock, uint64_t incarnation)
    : allocator_(std::move(allocator)),
      clock_(clock),
      incarnation_(incarnation),
      ledger_({.grace = std::chrono::seconds(1)}),
      hub_(*this) {
  hub_.OnTick([this] { Tick(); });
}

Status ChannelSteps::AddSession(uint64_t session, const Link* owner) {
  const uint32_t master = MasterOfSession(session);
  MutexLock lock(mutex_);
  if (const auto found = sessions_.find(master); found != sessions_.end()) {
    if (found->second.handle == session) return OkStatus();
    return AlreadyExists("the numbers of two sessions cannot be told apart");
  }
  sessions_[master].handle = session;
  sessions_[master].owner = owner;
  return ledger_.AddMaster(master);
}

void ChannelSteps::RemoveSession(uint64_t session, const Status& why) {
  const uint32_t master = MasterOfSession(session);
  std::vector<StepReaction> todo;
  Session ended;  // its plans go without the lock
  {
    MutexLock lock(mutex_);
    const auto found = sessions_.find(master);
    if (found == sessions_.end() || found->second.handle != session) return;
    ended = std::move(found->second);
    sessions_.erase(found);
    todo = ledger_.RemoveMaster(master, why);
  }
  CarryAll(todo);
}

void ChannelSteps::EndSteps(uint64_t session, const Status& why) {
  std::vector<StepReaction> todo;
  {
    MutexLock lock(mutex_);
    const auto found = sessions_.find(MasterOfSession(session));
    if (found == sessions_.end() || found->second.handle != session) return;
    todo = ledger_.CancelAll(found->first, why);
  }
  CarryAll(todo);
}

void ChannelSteps::SetIdleWork(std::function<void()> work) {
  MutexLock lock(mutex_);
  idle_work_ = std::move(work);
}

void ChannelSteps::AddPlan(uint64_t session, uint64_t plan, ChannelPlan made) {
  MutexLock lock(mutex_);
  const auto found = sessions_.find(MasterOfSession(session));
  if (found == sessions_.end() || found->second.handle != session) return;
  found->second.plans[plan] = std::make_shared<const ChannelPlan>(std::move(made));
}

void ChannelSteps::RemovePlan(uint64_t session, uint64_t plan) {
  std::shared_ptr<const ChannelPlan> removed;
  MutexLock lock(mutex_);
  const auto found = sessions_.find(MasterOfSession(session));
  if (found == sessions_.end()) return;
  const auto at = found->second.plans.find(plan);
  if (at == found->second.plans.end()) return;
  removed = std::move(at->second);
  found->second.plans.erase(at);
}

void ChannelSteps::Stop(const Status& why) {
  std::vector<std::shared_ptr<ChannelStep>> steps;
  std::vector<std::shared_ptr<DrivenStep>> driven;
  {
    MutexLock lock(mutex_);
    for (const auto& [id, step] : steps_) steps.push_back(step.meeting);
    for (const auto& [id, step] : driven_) driven.push_back(step);
  }
  for (const auto& step : driven) step->Stop(why, false, Now());
  for (const auto& step : steps) step->Abort(why);
  hub_.Stop();
  std::unordered_map<uint32_t, Session> sessions;  // plans go without the lock
  std::function<void()> work;
  MutexLock lock(mutex_);
  work.swap(idle_work_);
  sessions.swap(sessions_);
}

std::shared_ptr<ChannelStep> ChannelSteps::Meeting(uint64_t step) {
  Step& entry = steps_[step];
  if (entry.meeting == nullptr) {
    entry.meeting = std::make_shared<ChannelStep>(step, collectives_);
    entry.since = Now();
  }
  return entry.meeting;
}

void ChannelSteps::OnControl(Link& link, std::string_view bytes) {
  const Result<StepMessage> message = DecodeStepMessage(bytes);
  if (!message.ok()) return link.channel().Close(message.status());
  std::visit([&](const auto& m) { Handle(link, m); }, *message);
}

void ChannelSteps::Handle(Link& link, const StartMessage& start) {
  StepReaction reaction;
  std::vector<StepReaction> over;
  {
    MutexLock lock(mutex_);
    over = ledger_.Forget(MasterOfStep(start.step), start.lowest_open);
    reaction = ledger_.Start(start, incarnation_, Now());
    if (reaction.kind == StepReaction::kPrepare) {
      Meeting(start.step);
      Step& step = steps_[start.step];
      step.master = &link;
      step.started = true;
    }
  }
  CarryAll(over);
  if (reaction.kind == StepReaction::kAnswer) {
    Carry({.kind = StepReaction::kDrop, .step = start.step, .status = {}});
    Answer(link, reaction);
  } else if (reaction.kind == StepReaction::kPrepare) {
    hub_.Post([this, shared = link.shared_from_this(), start] { RunPart(shared, start); });
  }
}

void ChannelSteps::RunPart(const std::shared_ptr<Link>& link, const StartMessage& start) {
  hub_.Poll();  // a CANCEL may be right behind START
  StepReaction reaction;
  std::shared_ptr<ChannelStep> meeting;
  {
    MutexLock lock(mutex_);
    reaction = ledger_.Begin(start.step);
    meeting = Meeting(start.step);
  }
  if (reaction.kind == StepReaction::kRun) {
    const Status status = RunPlan(start, meeting);
    MutexLock lock(mutex_);
    reaction = ledger_.Ended(start.step, status);
  }
  {
    MutexLock lock(mutex_);
    steps_.erase(start.step);
  }
  if (reaction.kind == StepReaction::kAnswer) Answer(*link, reaction);
}

Status ChannelSteps::RunPlan(const StartMessage& start,
                             const std::shared_ptr<ChannelStep>& meeting) {
  std::shared_ptr<const ChannelPlan> plan;
  {
    MutexLock lock(mutex_);
    const auto session = sessions_.find(MasterOfStep(start.step));
    if (session != sessions_.end() && session->second.handle == start.session) {
      const auto found = session->second.plans.find(start.plan);
      if (found != session->second.plans.end()) plan = found->second;
    }
  }
  if (plan == nullptr) {
    return Aborted("this task has no graph ", start.plan, " of the session: it may have restarted");
  }
  meeting->SetPlan(plan->edges);
  Status status = plan->run(*meeting, std::chrono::nanoseconds(start.time_left));
  if (!status.ok()) meeting->Abort(status);
  return status;
}

void ChannelSteps::Answer(Link& master, const StepReaction& reaction) {
  if (reaction.status.ok()) {
    master.channel().Send(Encode(DoneMessage{.step = reaction.step}).view());
    return;
  }
  master.channel().Send(Encode(FailMessage{.step = reaction.step,
                                           .derived = reaction.derived,
                                           .code = reaction.status.code(),
                                           .text = std::string(reaction.status.message())})
                            .view());
}

void ChannelSteps::Handle(Link& link, const DoneMessage& done) {
  if (const auto step = FindDriven(done.step); step != nullptr) step->Done(link, Now());
}

void ChannelSteps::Handle(Link& link, const FailMessage& fail) {
  if (const auto step = FindDriven(fail.step); step != nullptr) {
    step->Failed(link, Status(fail.code, fail.text), fail.derived, Now());
  }
}

void ChannelSteps::Handle(Link&, const CancelMessage& cancel) {
  StepReaction reaction;
  {
    MutexLock lock(mutex_);
    reaction = ledger_.Cancel(cancel.step, Status(cancel.code, cancel.text));
  }
  Carry(reaction);
}

// A value that there is no room for is dropped: its step would wait for it.
Result<Tensor> ChannelSteps::OnHead(Link& link, const TensorHead& head) {
  Result<Tensor> place = Tensor::Allocate(*allocator_, head.dtype, head.shape);
  if (place.ok()) return place;
  StepReaction reaction;
  {
    MutexLock lock(mutex_);
    ledger_.Tensor(head.step, 0, Now());  // of a step that has not begun: it must not
    reaction = ledger_.Fail(
        head.step, place.status().WithContext(StrCat("a value that ", link.peer(), " sent")));
  }
  Carry(reaction);
  return place;
}

void ChannelSteps::OnTensor(Link& link, const TensorHead& head, Tensor tensor) {
  StepReaction reaction;
  std::shared_ptr<ChannelStep> meeting;
  {
    MutexLock lock(mutex_);
    reaction = ledger_.Tensor(head.step, head.dead ? 0 : tensor.bytes(), Now());
    if (reaction.kind == StepReaction::kKeep) meeting = Meeting(head.step);
  }
  if (meeting == nullptr) return Carry(reaction);
  if (!meeting->Arrive(link, head, std::move(tensor))) {
    link.channel().Close(InvalidArgument("edge ", head.edge, " of step ", head.step,
                                         " was sent twice, or there can be no such edge"));
  }
}

void ChannelSteps::OnClosed(Link& link, const Status& why) {
  const Status lost = Unavailable("the channel to ", link.peer(), " is lost: ", why.message());
  std::vector<StepReaction> todo;
  std::vector<std::shared_ptr<DrivenStep>> driven;
  std::vector<uint64_t> owned;
  {
    MutexLock lock(mutex_);
    for (const auto& [master, session] : sessions_) {
      if (session.owner == &link) owned.push_back(session.handle);
    }
    for (const auto& [id, step] : steps_) {
      if (driven_.contains(id)) continue;
      if (step.master == &link) {
        todo.push_back(ledger_.Cancel(id, lost));
      } else if (step.meeting->Uses(link)) {
        todo.push_back(ledger_.Fail(id, lost));
      }
    }
    for (const auto& [id, step] : driven_) driven.push_back(step);
  }
  CarryAll(todo);
  for (const auto& step : driven) step->Lost(link, lost, Now());
  for (const uint64_t session : owned) RemoveSession(session, lost);
}

void ChannelSteps::CarryAll(const std::vector<StepReaction>& reactions) {
  for (const StepReaction& reaction : reactions) Carry(reaction);
}

void ChannelSteps::Carry(const StepReaction& reaction) {
  if (reaction.kind != StepReaction::kDrop && reaction.kind != StepReaction::kAbort) return;
  std::shared_ptr<ChannelStep> meeting;
  {
    MutexLock lock(mutex_);
    const auto found = steps_.find(reaction.step);
    if (found == steps_.end()) return;
    meeting = found->second.meeting;
    if (reaction.kind == StepReaction::kDrop && !found->second.started) steps_.erase(found);
  }
  if (reaction.kind == StepReaction::kAbort) meeting->Abort(reaction.status);
}

std::shared_ptr<DrivenStep> ChannelSteps::FindDriven(uint64_t step) {
  MutexLock lock(mutex_);
  const auto found = driven_.find(step);
  return found == driven_.end() ? nullptr : found->second;
}

void ChannelSteps::Tick() {
  std::vector<StepReaction> late;
  std::function<void()> work;
  {
    MutexLock lock(mutex_);
    late = ledger_.Expire(Now());
    work = idle_work_;
  }
  CarryAll(late);
  if (work) work();
}

// The step's own tensors are met here like any worker's.
Result<std::shared_ptr<DrivenStep>> ChannelSteps::Open(const DriveRequest& request,
                                                       uint64_t* lowest_open) {
  const uint32_t master = MasterOfSession(request.session);
  std::vector<StepReaction> over;
  std::shared_ptr<DrivenStep> driven;
  {
    MutexLock lock(mutex_);
    const auto session = sessions_.find(master);
    if (session == sessions_.end() || session->second.handle != request.session) {
      return Cancelled("Session has been closed.");
    }
    const uint64_t number = session->second.next_step++;
    if (number > kMostStepNumber) return ResourceExhausted("the session has made too many steps");
    session->second.open.insert(number);
    *lowest_open = *session->second.open.begin();
    const uint64_t id = MakeStep(master, number);
    over = ledger_.Forget(master, *lowest_open);
    ledger_.Start({.step = id, .incarnation = incarnation_}, incarnation_, Now());
    ledger_.Begin(id);
    Step& step = steps_[id];
    step.meeting = std::make_shared<ChannelStep>(id, collectives_);
    step.meeting->SetPlan(request.edges);
    step.started = true;
    step.since = Now();
    driven = std::make_shared<DrivenStep>(request, step.meeting, hub_, step.since);
    driven_.emplace(id, driven);
  }
  CarryAll(over);
  return driven;
}

void ChannelSteps::CloseStep(uint64_t session, uint64_t step, const Status& status) {
  std::shared_ptr<DrivenStep> driven;
  std::shared_ptr<ChannelStep> meeting;
  MutexLock lock(mutex_);
  ledger_.Ended(step, status);
  if (const auto found = sessions_.find(MasterOfSession(session)); found != sessions_.end()) {
    found->second.open.erase(NumberOfStep(step));
  }
  // What they hold goes after the lock.
  if (const auto found = steps_.find(step); found != steps_.end()) {
    meeting = std::move(found->second.meeting);
    steps_.erase(found);
  }
  if (const auto found = driven_.find(step); found != driven_.end()) {
    driven = std::move(found->second);
    driven_.erase(found);
  }
}

Status ChannelSteps::Drive(const DriveRequest& request) {
  uint64_t lowest_open = 0;
  ASSIGN_OR_RETURN(const std::shared_ptr<DrivenStep> driven, Open(request, &lowest_open));
  CancellationManager::Token token = 0;
  bool registered = false;
  if (CancellationManager* const outside = request.cancellation; outside != nullptr) {
    registered =
        outside->Register([&, outside] { driven->Stop(outside->Reason(), false, Now()); }, &token);
    if (!registered) driven->Stop(outside->Reason(), false, Now());
  }
  num_driven_.fetch_add(1, std::memory_order_relaxed);
  if (request.opened) request.opened(driven->meeting().id());
  driven->Start(lowest_open, Now());
  if (request.run_here) {
    const Status status = request.run_here(driven->meeting());
    driven->EndHere();
    if (!status.ok()) {
      driven->Stop(status, driven->meeting().cancellation().IsCancelled(), Now());
    }
  }
  Status status = driven->Await(clock_);
  if (registered) request.cancellation->Deregister(token);
  CloseStep(request.session, driven->meeting().id(), status);
  return status;
}

}  // namespace thalweg
