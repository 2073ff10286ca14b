// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/steps/step_service.h"

#include <cstring>
#include <utility>

#include "thalweg/cluster/steps/step_coordinator.h"
#include "thalweg/tensor/text_heap.h"

namespace thalweg {

StepService::StepService(AllocatorPtr allocator, const Clock& clock, uint64_t incarnation)
    : allocator_(std::move(allocator)),
      clock_(clock),
      incarnation_(incarnation),
      worker_state_({.grace = std::chrono::seconds(1)}),
      hub_(*this) {
  hub_.OnTick([this] { Tick(); });
}

Status StepService::AddSession(uint64_t session, const Connection* owner) {
  const uint32_t master = MasterOfSession(session);
  MutexLock lock(mutex_);
  if (const auto found = sessions_.find(master); found != sessions_.end()) {
    if (found->second.handle == session) return OkStatus();
    return AlreadyExists("the numbers of two sessions cannot be told apart");
  }
  sessions_[master].handle = session;
  sessions_[master].owner = owner;
  return worker_state_.AddMaster(master);
}

void StepService::RemoveSession(uint64_t session, const Status& why) {
  const uint32_t master = MasterOfSession(session);
  std::vector<StepReaction> todo;
  Session ended;  // its plans go without the lock
  {
    MutexLock lock(mutex_);
    const auto found = sessions_.find(master);
    if (found == sessions_.end() || found->second.handle != session) return;
    ended = std::move(found->second);
    sessions_.erase(found);
    todo = worker_state_.RemoveMaster(master, why);
  }
  CarryAll(todo);
}

void StepService::EndSteps(uint64_t session, const Status& why) {
  std::vector<StepReaction> todo;
  {
    MutexLock lock(mutex_);
    const auto found = sessions_.find(MasterOfSession(session));
    if (found == sessions_.end() || found->second.handle != session) return;
    todo = worker_state_.CancelAll(found->first, why);
  }
  CarryAll(todo);
}

void StepService::SetIdleWork(std::function<void()> work) {
  MutexLock lock(mutex_);
  idle_work_ = std::move(work);
}

void StepService::AddPlan(uint64_t session, uint64_t plan, ChannelPlan made) {
  MutexLock lock(mutex_);
  const auto found = sessions_.find(MasterOfSession(session));
  if (found == sessions_.end() || found->second.handle != session) return;
  found->second.plans[plan] = std::make_shared<const ChannelPlan>(std::move(made));
}

void StepService::RemovePlan(uint64_t session, uint64_t plan) {
  std::shared_ptr<const ChannelPlan> removed;
  MutexLock lock(mutex_);
  const auto found = sessions_.find(MasterOfSession(session));
  if (found == sessions_.end()) return;
  const auto at = found->second.plans.find(plan);
  if (at == found->second.plans.end()) return;
  removed = std::move(at->second);
  found->second.plans.erase(at);
}

void StepService::Stop(const Status& why) {
  std::vector<std::shared_ptr<ChannelRendezvous>> steps;
  std::vector<std::shared_ptr<StepCoordinator>> coordinated;
  {
    MutexLock lock(mutex_);
    for (const auto& [id, step] : steps_) steps.push_back(step.rendezvous);
    for (const auto& [id, step] : coordinated_) coordinated.push_back(step);
  }
  for (const auto& step : coordinated) step->Stop(why, false, Now());
  for (const auto& step : steps) step->Abort(why);
  hub_.Stop();
  std::unordered_map<uint32_t, Session> sessions;  // plans go without the lock
  std::function<void()> work;
  MutexLock lock(mutex_);
  work.swap(idle_work_);
  sessions.swap(sessions_);
}

std::shared_ptr<ChannelRendezvous> StepService::RendezvousOf(uint64_t step) {
  Step& entry = steps_[step];
  if (entry.rendezvous == nullptr) {
    entry.rendezvous = std::make_shared<ChannelRendezvous>(step, collectives_);
    entry.since = Now();
  }
  return entry.rendezvous;
}

void StepService::OnControl(Connection& connection, std::string_view bytes) {
  const Result<StepMessage> message = DecodeStepMessage(bytes);
  if (!message.ok()) return connection.channel().Close(message.status());
  std::visit([&](const auto& m) { Handle(connection, m); }, *message);
}

void StepService::Handle(Connection& connection, const StartMessage& start) {
  StepReaction reaction;
  std::vector<StepReaction> over;
  {
    MutexLock lock(mutex_);
    over = worker_state_.Forget(MasterOfStep(start.step), start.lowest_open);
    reaction = worker_state_.Start(start, incarnation_, Now());
    if (reaction.kind == StepReaction::kPrepare) {
      RendezvousOf(start.step);
      Step& step = steps_[start.step];
      step.master = &connection;
      step.started = true;
    }
  }
  CarryAll(over);
  if (reaction.kind == StepReaction::kAnswer) {
    Carry({.kind = StepReaction::kDrop, .step = start.step, .status = {}});
    if (start.trace.failures) {
      PushTrace(connection.shared_from_this(), start, {}).IgnoreError();
    }
    Answer(connection, reaction);
  } else if (reaction.kind == StepReaction::kPrepare) {
    hub_.Post([this, shared = connection.shared_from_this(), start] { RunPart(shared, start); });
  }
}

void StepService::RunPart(const std::shared_ptr<Connection>& connection,
                          const StartMessage& start) {
  hub_.Poll();  // a CANCEL may be right behind START
  StepReaction reaction;
  std::shared_ptr<ChannelRendezvous> rendezvous;
  PartRun how{.timeout = std::chrono::nanoseconds(start.time_left), .trace = start.trace};
  {
    MutexLock lock(mutex_);
    reaction = worker_state_.Begin(start.step);
    rendezvous = RendezvousOf(start.step);
  }
  if (reaction.kind == StepReaction::kRun) {
    const Status status = RunPlan(start, rendezvous, &how);
    MutexLock lock(mutex_);
    reaction = worker_state_.Ended(start.step, status);
  }
  {
    MutexLock lock(mutex_);
    steps_.erase(start.step);
  }
  if (reaction.kind != StepReaction::kAnswer) return;
  if (start.trace.failures) {
    // A trace that finds no room is an empty one; the step is what it would be without.
    // One that was ended before it began tells that nothing ran.
    if (!PushTrace(connection, start, how.told).ok())
      PushTrace(connection, start, {}).IgnoreError();
  } else if (reaction.status.ok() && start.trace.any()) {
    reaction.status = PushTrace(connection, start, how.told);
    if (reaction.status.ok()) return;
  }
  Answer(*connection, reaction);
}

Status StepService::RunPlan(const StartMessage& start,
                            const std::shared_ptr<ChannelRendezvous>& rendezvous, PartRun* how) {
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
  rendezvous->SetPlan(plan->edges);
  Status status = plan->run(*rendezvous, *how);
  if (!status.ok()) rendezvous->Abort(status);
  return status;
}

Status StepService::PushTrace(const std::shared_ptr<Connection>& master, const StartMessage& start,
                              const std::string& told) const {
  const Shape shape{static_cast<int64_t>(told.size())};
  ASSIGN_OR_RETURN(Tensor bytes, Tensor::Allocate(*allocator_, DType::kUint8, shape));
  if (!told.empty()) std::memcpy(bytes.mutable_raw_data(), told.data(), told.size());
  return ChannelRendezvous::PushEdge(
      start.step, {.number = start.trace_edge, .dtype = DType::kUint8, .connection = master}, 0,
      {std::move(bytes), false});
}

void StepService::Answer(Connection& master, const StepReaction& reaction) {
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

void StepService::Handle(Connection& connection, const DoneMessage& done) {
  if (const auto step = FindCoordinated(done.step); step != nullptr) step->Done(connection, Now());
}

void StepService::Handle(Connection& connection, const FailMessage& fail) {
  if (const auto step = FindCoordinated(fail.step); step != nullptr) {
    step->Failed(connection, Status(fail.code, fail.text), fail.derived, Now());
  }
}

void StepService::Handle(Connection&, const CancelMessage& cancel) {
  StepReaction reaction;
  {
    MutexLock lock(mutex_);
    reaction = worker_state_.Cancel(cancel.step, Status(cancel.code, cancel.text));
  }
  Carry(reaction);
}

Result<Tensor> StepService::OnHead(Connection& connection, const TensorHead& head) {
  Result<Tensor> place = Tensor::Allocate(*allocator_, head.dtype, head.shape);
  if (!place.ok()) NoRoom(connection, head, place.status());
  return place;
}

// The value is dropped: its step would wait for it.
void StepService::NoRoom(Connection& connection, const TensorHead& head, const Status& status) {
  if (head.step == kEchoStep) return;  // who waits for an answer gets none
  const Status full = status.WithContext(StrCat("a value that ", connection.peer(), " sent"));
  if (const auto step = FindCoordinated(head.step); step && step->IsTrace(connection, head)) {
    if (step->TracesFailures(connection)) return step->Told(connection, Tensor());
    return step->Failed(connection, full, false, Now());
  }
  StepReaction reaction;
  {
    MutexLock lock(mutex_);
    worker_state_.Tensor(head.step, 0, Now());  // of a step that has not begun: it must not
    reaction = worker_state_.Fail(head.step, full);
  }
  Carry(reaction);
}

void StepService::OnTensor(Connection& connection, const TensorHead& head, Tensor tensor) {
  if (head.step == kEchoStep) return Echoes::Answer(connection, head);
  if (!head.dead) {
    // What its strings hold counts from now on, whoever keeps it.
    const Status room = ChargeTextHeap(*allocator_, tensor);
    if (!room.ok()) return NoRoom(connection, head, room);
  }
  if (const auto step = FindCoordinated(head.step); step && step->IsTrace(connection, head)) {
    return step->Traced(connection, head, std::move(tensor), Now());
  }
  StepReaction reaction;
  std::shared_ptr<ChannelRendezvous> rendezvous;
  {
    MutexLock lock(mutex_);
    reaction = worker_state_.Tensor(head.step, head.dead ? 0 : tensor.bytes(), Now());
    if (reaction.kind == StepReaction::kKeep) rendezvous = RendezvousOf(head.step);
  }
  if (rendezvous == nullptr) return Carry(reaction);
  if (!rendezvous->Arrive(connection, head, std::move(tensor))) {
    connection.channel().Close(InvalidArgument("edge ", head.edge, " of step ", head.step,
                                               " was sent twice, or there can be no such edge"));
  }
}

void StepService::OnClosed(Connection& connection, const Status& why) {
  const Status lost =
      Unavailable("the channel to ", connection.peer(), " is lost: ", why.message());
  std::vector<StepReaction> todo;
  std::vector<std::shared_ptr<StepCoordinator>> coordinated;
  std::vector<uint64_t> owned;
  {
    MutexLock lock(mutex_);
    for (const auto& [master, session] : sessions_) {
      if (session.owner == &connection) owned.push_back(session.handle);
    }
    for (const auto& [id, step] : steps_) {
      if (coordinated_.contains(id)) continue;
      if (step.master == &connection) {
        todo.push_back(worker_state_.Cancel(id, lost));
      } else if (step.rendezvous->Uses(connection)) {
        todo.push_back(worker_state_.Fail(id, lost));
      }
    }
    for (const auto& [id, step] : coordinated_) coordinated.push_back(step);
  }
  CarryAll(todo);
  for (const auto& step : coordinated) step->Lost(connection, lost, Now());
  for (const uint64_t session : owned) RemoveSession(session, lost);
}

void StepService::CarryAll(const std::vector<StepReaction>& reactions) {
  for (const StepReaction& reaction : reactions) Carry(reaction);
}

void StepService::Carry(const StepReaction& reaction) {
  if (reaction.kind != StepReaction::kDrop && reaction.kind != StepReaction::kAbort) return;
  std::shared_ptr<ChannelRendezvous> rendezvous;
  {
    MutexLock lock(mutex_);
    const auto found = steps_.find(reaction.step);
    if (found == steps_.end()) return;
    rendezvous = found->second.rendezvous;
    if (reaction.kind == StepReaction::kDrop && !found->second.started) steps_.erase(found);
  }
  if (reaction.kind == StepReaction::kAbort) rendezvous->Abort(reaction.status);
}

std::shared_ptr<StepCoordinator> StepService::FindCoordinated(uint64_t step) {
  MutexLock lock(mutex_);
  const auto found = coordinated_.find(step);
  return found == coordinated_.end() ? nullptr : found->second;
}

void StepService::Tick() {
  std::vector<StepReaction> late;
  std::function<void()> work;
  {
    MutexLock lock(mutex_);
    late = worker_state_.Expire(Now());
    work = idle_work_;
  }
  CarryAll(late);
  if (work) work();
}

// The step's own tensors are met here like any worker's.
Result<std::shared_ptr<StepCoordinator>> StepService::Open(const CoordinateRequest& request,
                                                           uint64_t* lowest_open) {
  const uint32_t master = MasterOfSession(request.session);
  std::vector<StepReaction> over;
  std::shared_ptr<StepCoordinator> coordinated;
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
    over = worker_state_.Forget(master, *lowest_open);
    worker_state_.Start({.step = id, .incarnation = incarnation_}, incarnation_, Now());
    worker_state_.Begin(id);
    Step& step = steps_[id];
    step.rendezvous = std::make_shared<ChannelRendezvous>(id, collectives_);
    step.rendezvous->SetPlan(request.edges);
    step.started = true;
    step.since = Now();
    coordinated = std::make_shared<StepCoordinator>(request, step.rendezvous, hub_, step.since);
    coordinated_.emplace(id, coordinated);
  }
  CarryAll(over);
  return coordinated;
}

void StepService::CloseStep(uint64_t session, uint64_t step, const Status& status) {
  std::shared_ptr<StepCoordinator> coordinated;
  std::shared_ptr<ChannelRendezvous> rendezvous;
  MutexLock lock(mutex_);
  worker_state_.Ended(step, status);
  if (const auto found = sessions_.find(MasterOfSession(session)); found != sessions_.end()) {
    found->second.open.erase(NumberOfStep(step));
  }
  // What they hold goes after the lock.
  if (const auto found = steps_.find(step); found != steps_.end()) {
    rendezvous = std::move(found->second.rendezvous);
    steps_.erase(found);
  }
  if (const auto found = coordinated_.find(step); found != coordinated_.end()) {
    coordinated = std::move(found->second);
    coordinated_.erase(found);
  }
}

Status StepService::Coordinate(const CoordinateRequest& request) {
  uint64_t lowest_open = 0;
  ASSIGN_OR_RETURN(const std::shared_ptr<StepCoordinator> coordinated, Open(request, &lowest_open));
  ScopedCancellation outside(request.cancellation, [this, &coordinated](const Status& why) {
    coordinated->Stop(why, false, Now());
  });
  num_coordinated_.fetch_add(1, std::memory_order_relaxed);
  if (request.opened) request.opened(coordinated->rendezvous().id());
  coordinated->Start(lowest_open, Now());
  if (request.run_here) {
    const Status status = request.run_here(coordinated->rendezvous());
    coordinated->EndHere();
    if (!status.ok()) {
      coordinated->Stop(status, coordinated->rendezvous().cancellation().IsCancelled(), Now());
    }
  }
  Status status = coordinated->Await(clock_);
  outside.End();
  CloseStep(request.session, coordinated->rendezvous().id(), status);
  return status;
}

}  // namespace thalweg
