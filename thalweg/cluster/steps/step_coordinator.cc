// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/steps/step_coordinator.h"

#include <algorithm>
#include <utility>

#include "thalweg/base/first_error.h"
#include "thalweg/cluster/transport/hello.h"
#include "thalweg/cluster/transport/message.h"

namespace thalweg {
namespace {

// What a task tells is some times what it keeps of a step (SessionOptions::trace_bytes): two
// gigabytes of the usual quarter of one. What a network does not carry in this time is missing.
constexpr StepTime kTracePatience = std::chrono::seconds(10);

StepTime DeadlineOf(const CoordinateRequest& request, StepTime now) {
  constexpr auto kMost = StepTime::max();
  if (request.timeout.count() <= 0 || request.timeout > kMost - now - request.grace) return kMost;
  return now + request.timeout + request.grace;
}

size_t NumFetches(const CoordinateRequest& request) {
  size_t fetches = 0;
  for (const RemoteStepPart& part : request.parts) fetches += part.fetches.size();
  return fetches;
}

}  // namespace

StepCoordinator::StepCoordinator(const CoordinateRequest& request,
                                 std::shared_ptr<ChannelRendezvous> rendezvous, ChannelHub& hub,
                                 StepTime now)
    : request_(request),
      names_tasks_(request.names_tasks),
      is_traced_(request.trace.any()),
      traces_failures_(is_traced_ && request.trace.failures),
      rendezvous_(std::move(rendezvous)),
      hub_(hub),
      deadline_(DeadlineOf(request, now)),
      here_done_(request.run_here == nullptr),
      state_(request.parts.size(), deadline_),
      has_answered_(request.parts.size()),
      has_told_(request.parts.size()),
      open_fetches_(NumFetches(request)) {
  for (const RemoteStepPart& part : request.parts) {
    connections_.push_back(part.connection);
    trace_edges_.push_back(part.trace_edge);
  }
}

void StepCoordinator::Start(uint64_t lowest_open, StepTime now) {
  for (size_t i = 0; i < request_.parts.size(); ++i) {
    const RemoteStepPart& part = request_.parts[i];
    for (const auto& [number, edge] : part.fetches) {
      Expect(edge, static_cast<size_t>(number));
    }
  }
  for (const RemoteStepPart& part : request_.parts) StartPart(part, lowest_open, now);
}

void StepCoordinator::StartPart(const RemoteStepPart& part, uint64_t lowest_open, StepTime now) {
  if (part.connection->closed()) {
    return Lost(*part.connection,
                Unavailable("the channel to ", part.connection->peer(), " is closed"), now);
  }
  TraceWish trace = request_.trace;
  trace.failures = TracesFailures(*part.connection);
  const StartMessage start{.step = rendezvous_->id(),
                           .lowest_open = lowest_open,
                           .session = request_.session,
                           .plan = part.plan,
                           .incarnation = part.incarnation,
                           .time_left = std::max<int64_t>(0, request_.timeout.count()),
                           .trace = trace,
                           .trace_edge = part.trace_edge};
  part.connection->channel().Send(Encode(start).view());
  for (const auto& [number, edge] : part.feeds) {
    const Status status =
        ChannelRendezvous::PushEdge(rendezvous_->id(), edge, 0, {request_.feeds[number], false});
    if (!status.ok()) return Lost(*part.connection, status, now);
  }
}

void StepCoordinator::Expect(const ChannelEdge& edge, size_t fetch) {
  rendezvous_->RecvEdge(edge, [this, fetch](Result<Delivery> got) {
    if (!got.ok()) return Fetched(got.status());
    if (got->dead) return Fetched(InvalidArgument("fetch ", fetch, " is on a branch not taken"));
    request_.fetches[fetch] = std::move(got->tensor);
    Fetched(OkStatus());
  });
}

void StepCoordinator::Fetched(const Status& status) {
  MutexLock lock(mutex_);
  --open_fetches_;
  KeepFirstError(status, &late_error_);
  NoteEnd();
}

int StepCoordinator::FindPart(const Connection& connection) const {
  for (size_t i = 0; i < connections_.size(); ++i) {
    if (connections_[i].get() == &connection) return static_cast<int>(i);
  }
  return -1;
}

void StepCoordinator::NoteEnd() {
  if (!state_.closed() || open_fetches_ > 0) return;
  ended_.store(true, std::memory_order_release);
  hub_.Wake();
}

void StepCoordinator::React(const CoordinatorState::Reaction& reaction) {
  if (!reaction.cancel && !reaction.closed) return;
  Status why;
  std::vector<Connection*> others;
  {
    MutexLock lock(mutex_);
    why = state_.status();
    for (size_t i = 0; reaction.cancel && i < connections_.size(); ++i) {
      if (state_.awaits(i)) others.push_back(connections_[i].get());
    }
  }
  for (Connection* const other : others) {
    other->channel().Send(Encode(CancelMessage{.step = rendezvous_->id(),
                                               .code = why.code(),
                                               .text = std::string(why.message())})
                              .view());
  }
  if (!why.ok()) rendezvous_->Abort(why);
  limited_.store(true, std::memory_order_release);  // to the wait for answers
  hub_.Wake();
  MutexLock lock(mutex_);
  NoteEnd();
}

void StepCoordinator::Done(const Connection& connection, StepTime now) {
  const int part = FindPart(connection);
  if (part < 0) return;
  if (is_traced_ && !TracesFailures(connection)) {
    return Failed(connection, Internal("the step is traced, and this part told nothing"), false,
                  now);
  }
  CoordinatorState::Reaction reaction;
  {
    MutexLock lock(mutex_);
    const size_t which = static_cast<size_t>(part);
    const bool is_first = !has_answered_[which];
    has_answered_[which] = true;
    if (!OwesTrace(which)) {
      reaction = state_.Done(which);
    } else if (is_first) {
      AwaitTraces(now);
    }
  }
  React(reaction);
}

// They may be on their way still: no step waits for ever for who looks on.
void StepCoordinator::AwaitTraces(StepTime now) {
  traces_until_ = std::min(deadline_, now + kTracePatience);
  limited_.store(true, std::memory_order_release);
  hub_.Wake();
}

void StepCoordinator::GiveUpTraces() {
  traces_until_ = StepTime::max();
  for (size_t i = 0; i < connections_.size(); ++i) {
    if (has_answered_[i]) state_.Done(i);
  }
}

bool StepCoordinator::OwesTrace(size_t which) const {
  return TracesFailures(*connections_[which]) && !has_told_[which];
}

bool StepCoordinator::IsTrace(const Connection& connection, const TensorHead& head) const {
  const int part = is_traced_ ? FindPart(connection) : -1;
  return part >= 0 && head.edge == trace_edges_[part];
}

bool StepCoordinator::TracesFailures(const Connection& connection) const {
  return traces_failures_ && (connection.features() & kTracedFailures) != 0;
}

void StepCoordinator::Traced(const Connection& connection, const TensorHead& head, Tensor told,
                             StepTime now) {
  if (head.dead || told.dtype() != DType::kUint8) {
    return Failed(connection, Internal("a part told of its run what are no bytes"), false, now);
  }
  Told(connection, std::move(told));
}

void StepCoordinator::Told(const Connection& connection, Tensor told) {
  const auto which = static_cast<size_t>(FindPart(connection));
  CoordinatorState::Reaction reaction;
  {
    MutexLock lock(mutex_);
    // Until then there is somebody who waits, if not for it.
    if (state_.closed() || has_told_[which]) return;
    request_.traces[which] = std::move(told);
    has_told_[which] = true;
    // Its answer may have overtaken it: a large tensor does not hold up what is sent behind it.
    if (TracesFailures(connection) && !has_answered_[which]) return;
    reaction = state_.Done(which);
  }
  React(reaction);
}

void StepCoordinator::Failed(const Connection& connection, const Status& why, bool derived,
                             StepTime now) {
  const int part = FindPart(connection);
  if (part < 0) return;
  const Status named =
      names_tasks_ ? Status(why.code(), StrCat("From ", connection.peer(), ":\n", why.message()))
                   : why;
  CoordinatorState::Reaction reaction;
  {
    MutexLock lock(mutex_);
    const size_t which = static_cast<size_t>(part);
    has_answered_[which] = true;
    // Others are to end at once; for what it tells there is the same patience as for them.
    reaction = OwesTrace(which) ? state_.Stop(named, derived, now)
                                : state_.Failed(which, named, derived, now);
  }
  React(reaction);
}

void StepCoordinator::Lost(const Connection& connection, const Status& why, StepTime now) {
  const int part = FindPart(connection);
  if (part < 0) return;
  bool answered = false;
  CoordinatorState::Reaction reaction;
  {
    MutexLock lock(mutex_);
    const size_t which = static_cast<size_t>(part);
    // One that has answered, and told nothing, is as little missed as one that is not watched.
    answered = has_answered_[which] || !state_.awaits(which);
    reaction = answered ? state_.Done(which) : state_.Lost(which, why, now);
  }
  React(reaction);
  if (!answered) return;
  // What it sent may still have been on its way.
  if (!ended_.load(std::memory_order_acquire) || !here_done_.load(std::memory_order_acquire)) {
    Stop(why, false, now);
  }
}

void StepCoordinator::Stop(const Status& why, bool derived, StepTime now) {
  CoordinatorState::Reaction reaction;
  {
    MutexLock lock(mutex_);
    if (state_.closed()) KeepFirstError(why, &late_error_);
    reaction = state_.Stop(why, derived, now);
  }
  React(reaction);
  rendezvous_->Abort(why);
}

void StepCoordinator::Tick(StepTime now) {
  CoordinatorState::Reaction reaction;
  bool late = false;
  {
    MutexLock lock(mutex_);
    if (now >= traces_until_) GiveUpTraces();
    late = state_.closed() && open_fetches_ > 0 && now >= deadline_;
    if (!late) reaction = state_.Tick(now);
  }
  if (late) {
    return Stop(DeadlineExceeded("what was fetched did not arrive within the deadline"), false,
                now);
  }
  React(reaction);
}

void StepCoordinator::AppendOwed(std::vector<std::string>* owed) {
  MutexLock lock(mutex_);
  for (size_t i = 0; i < connections_.size(); ++i) {
    if (state_.awaits(i))
      owed->push_back(StrCat("the end of its part of ", connections_[i]->peer()));
  }
}

// Who has not answered, for the error.
std::string StepCoordinator::Unanswered() {
  std::string names;
  for (size_t i = 0; i < connections_.size(); ++i) {
    if (!has_answered_[i] && state_.awaits(i)) {
      names += StrCat("; ", connections_[i]->peer(), " did not answer");
    }
  }
  return names;
}

Status StepCoordinator::Await(const Clock& clock) {
  {
    MutexLock lock(mutex_);
    NoteEnd();  // there may be nobody to wait for
  }
  while (!ended_.load(std::memory_order_acquire)) {
    limited_.store(false);
    StepTime next{};
    {
      MutexLock lock(mutex_);
      next = state_.closed() ? deadline_ : std::min(state_.next_tick(), traces_until_);
    }
    hub_.WorkUntil(
        [this] {
          return ended_.load(std::memory_order_acquire) || limited_.load(std::memory_order_acquire);
        },
        Clock::TimePoint(next));
    if (const StepTime now = clock.Now().time_since_epoch(); now >= next) Tick(now);
  }
  MutexLock lock(mutex_);
  if (state_.status().ok()) return late_error_;
  const std::string silent = Unanswered();
  if (silent.empty()) return state_.status();
  return Status(state_.status().code(), StrCat(state_.status().message(), silent));
}

}  // namespace thalweg
