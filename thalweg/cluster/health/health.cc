// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/health/health.h"

#include <utility>

#include "thalweg/proto/messages.h"

namespace thalweg {
namespace {

using std::chrono::nanoseconds;

// A lost master's sessions are dropped after so many times the limit.
constexpr int kForgetAfter = 20;
// For the tasks of a step whose time is up to say what they wait for.
constexpr std::chrono::milliseconds kPatience{500};

}  // namespace

Health::Health(WorkerClients& peers, Clock& clock, HealthOptions options, Hooks hooks)
    : peers_(peers),
      clock_(clock),
      options_(options),
      hooks_(std::move(hooks)),
      table_(options),
      timer_(clock) {}

void Health::Stop() {
  {
    MutexLock lock(mutex_);
    stopped_ = true;
  }
  stopping_.Cancel(Cancelled("the server is stopping"));
  Timer::Entry entry;
  {
    MutexLock lock(mutex_);
    entry = entry_;
  }
  timer_.Remove(entry);  // no other is made any more
  MutexLock lock(mutex_);
  while (calls_ > 0) changed_.Wait(mutex_);
}

void Health::Arm(nanoseconds after) {
  if (armed_ || stopped_ || (table_.idle() && masters_.empty() && !hooks_.busy())) return;
  armed_ = true;
  entry_ = timer_.Add(Deadline::After(clock_, after), [this] { Tick(); });
}

void Health::OpenSession(const std::string& session, const std::vector<std::string>& tasks) {
  MutexLock lock(mutex_);
  if (!armed_) ticked_ = clock_.Now();
  table_.OpenSession(session, tasks, clock_.Now());
  Arm(nanoseconds(0));  // asks at once
}

void Health::CloseSession(const std::string& session) {
  MutexLock lock(mutex_);
  table_.CloseSession(session);
}

Status Health::WithTaskDiagnostics(const Status& status, const std::string& task) {
  const bool is_silent =
      status.code() == Code::kUnavailable || status.code() == Code::kDeadlineExceeded;
  if (!is_silent) return status;
  return Status(status.code(), StrCat(status.message(), Diagnostics(task)));
}

std::string Health::Diagnostics(const std::string& task) {
  MutexLock lock(mutex_);
  return table_.Diagnostics(task, clock_.Now());
}

Health::Watch::Watch(Health& health, Watched what, End end)
    : health_(health), what_(std::move(what)), end_(std::move(end)) {
  const Clock::TimePoint now = health_.clock_.Now();
  MutexLock lock(health_.mutex_);
  if (!health_.armed_) health_.ticked_ = now;
  ticket_ = health_.table_.BeginStep(what_.step, what_.tasks, now);
  health_.watches_.emplace(ticket_, this);
  health_.Arm(health_.options_.beat_in_step());
  if (what_.timeout.count() == 0) return;
  time_out_ = health_.timer_.Add(Deadline::After(health_.clock_, what_.timeout),
                                 [&health, ticket = ticket_] { health.TimeOut(ticket); });
}

Health::Watch::~Watch() {
  if (time_out_.id != 0) health_.timer_.Remove(time_out_);
  MutexLock lock(health_.mutex_);
  health_.watches_.erase(ticket_);
  health_.table_.EndStep(ticket_);
  while (health_.told_ == ticket_) health_.changed_.Wait(health_.mutex_);
}

// Asks the tasks what they wait for; their answers, or a while without them, end the step.
void Health::TimeOut(uint64_t ticket) {
  std::vector<HeartbeatTable::Due> due;
  {
    MutexLock lock(mutex_);
    const auto found = watches_.find(ticket);
    if (found == watches_.end() || stopped_) return;
    found->second->asked_ = clock_.Now();
    for (const std::string& task : found->second->what_.tasks) {
      due.push_back({task, table_.SessionsOf(task)});
    }
  }
  timer_.Add(Deadline::After(clock_, kPatience), [this, ticket] { TellTimeOut(ticket); });
  for (const HeartbeatTable::Due& task : due) Ask(task);
}

void Health::TellTimeOut(uint64_t ticket) {
  Status why;
  {
    MutexLock lock(mutex_);
    const auto found = watches_.find(ticket);
    if (found == watches_.end()) return;
    why = DeadlineExceeded("the step did not end within ",
                           std::chrono::duration<double, std::milli>(found->second->what_.timeout +
                                                                     found->second->what_.spent)
                               .count(),
                           " ms:", table_.Explain(ticket, clock_.Now()));
  }
  Tell(ticket, why);
}

void Health::Tell(uint64_t ticket, const Status& why) {
  Watch* watch = nullptr;
  {
    MutexLock lock(mutex_);
    const auto found = watches_.find(ticket);
    if (found == watches_.end() || stopped_) return;
    watch = found->second;
    told_ = ticket;
  }
  watch->end_(why);
  MutexLock lock(mutex_);
  told_ = 0;
  changed_.NotifyAll();
}

void Health::Ask(const HeartbeatTable::Due& due) {
  if (due.task == peers_.self()) {
    HeartbeatPayload beat = MakeHeartbeat(nullptr);
    MutexLock lock(mutex_);
    return table_.Answered(due.task, 1, std::move(beat), clock_.Now());
  }
  {
    MutexLock lock(mutex_);
    if (stopped_) return;
    ++calls_;
  }
  OwnedMessage request(pb::GetStatusRequest::Descriptor());
  AddHeartbeatRequest({.master = peers_.self(), .sessions = due.sessions}, request.get())
      .IgnoreError();
  peers_.CallAside(
      due.task, "GetStatus", *request, pb::GetStatusResponse::Descriptor(),
      {.timeout = options_.lost_after, .cancellation = &stopping_},
      [this, task = due.task](const Result<OwnedMessage>& answer) { TakeAnswer(task, answer); });
}

void Health::TakeAnswer(const std::string& task, const Result<OwnedMessage>& answer) {
  MutexLock lock(mutex_);
  if (answer.ok()) {
    const auto devices = (*answer)->Messages(pb::GetStatusResponse::kDeviceAttributes);
    const uint64_t incarnation =
        devices.empty() ? 1 : devices[0]->GetUint(pb::DeviceAttributes::kIncarnation);
    table_.Answered(task, incarnation, FindHeartbeat(**answer), clock_.Now());
  } else {
    table_.Failed(task, answer.status());
  }
  --calls_;
  changed_.NotifyAll();
  if (stopped_) return;
  for (const auto& [ticket, watch] : watches_) {
    if (!watch->asked_.has_value() || !table_.HeardSince(watch->what_.tasks, *watch->asked_))
      continue;
    timer_.Add(Deadline(clock_.Now()), [this, late = ticket] { TellTimeOut(late); });
  }
}

void Health::Tick() {
  std::vector<HeartbeatTable::Due> due;
  Clock::TimePoint now;
  {
    MutexLock lock(mutex_);
    now = clock_.Now();
    // The process itself was away: it cannot tell who else was.
    if (const auto away = now - ticked_; away > options_.lost_after / 2) {
      table_.Excuse(now, away);
      for (auto& [session, master] : masters_) master.heard = std::min(now, master.heard + away);
    }
    ticked_ = now;
    if (!stopped_) due = table_.TakeDue(now);
  }
  for (const HeartbeatTable::Due& task : due) Ask(task);
  JudgeSteps(now);
  JudgeMasters(now);
  hooks_.tick();
  MutexLock lock(mutex_);
  armed_ = false;
  Arm(options_.beat_in_step());
  changed_.NotifyAll();
}

void Health::JudgeSteps(Clock::TimePoint now) {
  std::vector<HeartbeatTable::Verdict> verdicts;
  {
    MutexLock lock(mutex_);
    verdicts = table_.Judge(now);
  }
  for (const HeartbeatTable::Verdict& verdict : verdicts) Tell(verdict.ticket, verdict.why);
}

void Health::JudgeMasters(Clock::TimePoint now) {
  struct Loss {
    std::string session;
    Status why;
    bool forget;
  };
  std::vector<Loss> losses;
  {
    MutexLock lock(mutex_);
    for (auto at = masters_.begin(); at != masters_.end();) {
      Master& master = at->second;
      const auto silent = now - master.heard;
      const bool forget = silent >= options_.lost_after * kForgetAfter;
      if (silent >= options_.lost_after && (!master.lost || forget)) {
        master.lost = true;
        losses.push_back(
            {at->first,
             // As whoever else finds a task lost: a master that was only away hears it.
             Unavailable(peers_.self(), " ends the steps of the master ", master.task, " (",
                         peers_.AddressOf(master.task), "): it has not been heard of for ",
                         std::chrono::duration<double>(silent).count(), " s"),
             forget});
      }
      at = forget ? masters_.erase(at) : std::next(at);
    }
  }
  for (const Loss& loss : losses) hooks_.master_lost(loss.session, loss.why, loss.forget);
}

HeartbeatPayload Health::MakeHeartbeat(const std::vector<std::string>* sessions) const {
  HeartbeatPayload beat;
  beat.process = OwnIdentity();
  beat.memory = ReadProcessMemory();
  beat.steps = hooks_.report(sessions, &beat.progress);
  return beat;
}

std::optional<HeartbeatRequest> Health::HearMaster(const Message& request) {
  std::optional<HeartbeatRequest> told = FindHeartbeatRequest(request);
  if (!told.has_value()) return told;
  MutexLock lock(mutex_);
  if (!armed_) ticked_ = clock_.Now();
  for (const std::string& session : told->sessions) {
    masters_[session] = {.task = told->master, .heard = clock_.Now(), .lost = false};
  }
  Arm(options_.beat_in_step());
  return told;
}

Status Health::AnswerGetStatus(const Message& request, Message* response) {
  const std::optional<HeartbeatRequest> asked = HearMaster(request);
  if (!asked.has_value()) return OkStatus();
  return AddHeartbeat(MakeHeartbeat(&asked->sessions), response);
}

void Health::Wake() {
  MutexLock lock(mutex_);
  if (armed_) return;
  ticked_ = clock_.Now();
  Arm(options_.beat_in_step());
}

void Health::ForgetSession(const std::string& session) {
  MutexLock lock(mutex_);
  masters_.erase(session);
}

std::vector<std::string> Health::Describe() {
  MutexLock lock(mutex_);
  std::vector<std::string> lines = table_.Describe(clock_.Now());
  for (const auto& [session, master] : masters_) {
    lines.push_back(StrCat("master ", master.task, master.lost ? " lost" : " alive", ", heard of ",
                           std::chrono::duration<double>(clock_.Now() - master.heard).count(),
                           " s ago, session ", session));
  }
  return lines;
}

}  // namespace thalweg
