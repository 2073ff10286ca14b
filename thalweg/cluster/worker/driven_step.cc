// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/worker/driven_step.h"

#include <utility>

#include "thalweg/cluster/transport/message.h"

namespace thalweg {
namespace {

DrivenStep::Time DeadlineOf(const DriveRequest& request, DrivenStep::Time now) {
  constexpr auto kMost = DrivenStep::Time::max();
  if (request.timeout.count() <= 0 || request.timeout > kMost - now - request.grace) return kMost;
  return now + request.timeout + request.grace;
}

size_t NumFetches(const DriveRequest& request) {
  size_t fetches = 0;
  for (const RemoteStepPart& part : request.parts) fetches += part.fetches.size();
  return fetches;
}

}  // namespace

DrivenStep::DrivenStep(const DriveRequest& request, std::shared_ptr<ChannelStep> meeting,
                       ChannelHub& hub, Time now)
    : request_(request),
      names_tasks_(request.names_tasks),
      meeting_(std::move(meeting)),
      hub_(hub),
      deadline_(DeadlineOf(request, now)),
      here_done_(request.run_here == nullptr),
      driver_(request.parts.size(), deadline_),
      open_fetches_(NumFetches(request)) {
  for (const RemoteStepPart& part : request.parts) links_.push_back(part.link);
}

void DrivenStep::Start(uint64_t lowest_open, Time now) {
  for (const RemoteStepPart& part : request_.parts) {
    for (const auto& [number, edge] : part.fetches) Expect(number, edge);
  }
  for (const RemoteStepPart& part : request_.parts) StartPart(part, lowest_open, now);
}

void DrivenStep::StartPart(const RemoteStepPart& part, uint64_t lowest_open, Time now) {
  if (part.link->closed()) {
    return Lost(*part.link, Unavailable("the channel to ", part.link->peer(), " is closed"), now);
  }
  const StartMessage start{.step = meeting_->id(),
                           .lowest_open = lowest_open,
                           .session = request_.session,
                           .plan = part.plan,
                           .incarnation = part.incarnation,
                           .time_left = std::max<int64_t>(0, request_.timeout.count())};
  part.link->channel().Send(Encode(start).view());
  for (const auto& [number, edge] : part.feeds) {
    const Status status =
        ChannelStep::PushEdge(meeting_->id(), edge, 0, {request_.feeds[number], false});
    if (!status.ok()) return Lost(*part.link, status, now);
  }
}

void DrivenStep::Expect(int fetch, const ChannelEdge& edge) {
  meeting_->RecvEdge(edge, [this, fetch](Result<Delivery> got) {
    if (!got.ok()) return Fetched(got.status());
    if (got->dead) return Fetched(InvalidArgument("fetch ", fetch, " is on a branch not taken"));
    request_.fetches[fetch] = std::move(got->tensor);
    Fetched(OkStatus());
  });
}

void DrivenStep::Fetched(const Status& status) {
  MutexLock lock(mutex_);
  --open_fetches_;
  if (!status.ok() && late_error_.ok()) late_error_ = status;
  NoteEnd();
}

int DrivenStep::FindPart(const Link& link) const {
  for (size_t i = 0; i < links_.size(); ++i) {
    if (links_[i].get() == &link) return static_cast<int>(i);
  }
  return -1;
}

void DrivenStep::NoteEnd() {
  if (!driver_.closed() || open_fetches_ > 0) return;
  ended_.store(true, std::memory_order_release);
  hub_.Wake();
}

void DrivenStep::React(const StepDriver::Reaction& reaction) {
  if (!reaction.cancel && !reaction.closed) return;
  Status why;
  std::vector<Link*> others;
  {
    MutexLock lock(mutex_);
    why = driver_.status();
    for (size_t i = 0; reaction.cancel && i < links_.size(); ++i) {
      if (driver_.awaits(i)) others.push_back(links_[i].get());
    }
  }
  for (Link* const other : others) {
    other->channel().Send(
        Encode(CancelMessage{
                   .step = meeting_->id(), .code = why.code(), .text = std::string(why.message())})
            .view());
  }
  if (!why.ok()) meeting_->Abort(why);
  limited_.store(true, std::memory_order_release);  // to the wait for answers
  hub_.Wake();
  MutexLock lock(mutex_);
  NoteEnd();
}

void DrivenStep::Done(const Link& link, Time) {
  const int part = FindPart(link);
  if (part < 0) return;
  StepDriver::Reaction reaction;
  {
    MutexLock lock(mutex_);
    reaction = driver_.Done(static_cast<size_t>(part));
  }
  React(reaction);
}

void DrivenStep::Failed(const Link& link, const Status& why, bool derived, Time now) {
  const int part = FindPart(link);
  if (part < 0) return;
  const Status named =
      names_tasks_ ? Status(why.code(), StrCat("From ", link.peer(), ":\n", why.message())) : why;
  StepDriver::Reaction reaction;
  {
    MutexLock lock(mutex_);
    reaction = driver_.Failed(static_cast<size_t>(part), named, derived, now);
  }
  React(reaction);
}

void DrivenStep::Lost(const Link& link, const Status& why, Time now) {
  const int part = FindPart(link);
  if (part < 0) return;
  bool answered = false;
  StepDriver::Reaction reaction;
  {
    MutexLock lock(mutex_);
    answered = !driver_.awaits(static_cast<size_t>(part));
    if (!answered) reaction = driver_.Lost(static_cast<size_t>(part), why, now);
  }
  if (!answered) return React(reaction);
  // What it sent may still have been on its way.
  if (!ended_.load(std::memory_order_acquire) || !here_done_.load(std::memory_order_acquire)) {
    Stop(why, false, now);
  }
}

void DrivenStep::Stop(const Status& why, bool derived, Time now) {
  StepDriver::Reaction reaction;
  {
    MutexLock lock(mutex_);
    if (driver_.closed() && late_error_.ok()) late_error_ = why;
    reaction = driver_.Stop(why, derived, now);
  }
  React(reaction);
  meeting_->Abort(why);
}

void DrivenStep::Tick(Time now) {
  StepDriver::Reaction reaction;
  bool late = false;
  {
    MutexLock lock(mutex_);
    late = driver_.closed() && now >= deadline_;
    if (!late) reaction = driver_.Tick(now);
  }
  if (late) {
    return Stop(DeadlineExceeded("what was fetched did not arrive within the deadline"), false,
                now);
  }
  React(reaction);
}

void DrivenStep::AppendOwed(std::vector<std::string>* owed) {
  MutexLock lock(mutex_);
  for (size_t i = 0; i < links_.size(); ++i) {
    if (driver_.awaits(i)) owed->push_back(StrCat("the end of its part of ", links_[i]->peer()));
  }
}

// Who has not answered, for the error.
std::string DrivenStep::Unanswered() {
  std::string names;
  for (size_t i = 0; i < links_.size(); ++i) {
    if (driver_.awaits(i)) names += StrCat("; ", links_[i]->peer(), " did not answer");
  }
  return names;
}

Status DrivenStep::Await(const Clock& clock) {
  {
    MutexLock lock(mutex_);
    NoteEnd();  // there may be nobody to wait for
  }
  while (!ended_.load(std::memory_order_acquire)) {
    limited_.store(false);
    Time next{};
    {
      MutexLock lock(mutex_);
      next = driver_.closed() ? deadline_ : driver_.next_tick();
    }
    hub_.WorkUntil(
        [this] {
          return ended_.load(std::memory_order_acquire) || limited_.load(std::memory_order_acquire);
        },
        Clock::TimePoint(next));
    if (const Time now = clock.Now().time_since_epoch(); now >= next) Tick(now);
  }
  MutexLock lock(mutex_);
  if (driver_.status().ok()) return late_error_;
  const std::string silent = Unanswered();
  if (silent.empty()) return driver_.status();
  return Status(driver_.status().code(), StrCat(driver_.status().message(), silent));
}

}  // namespace thalweg
