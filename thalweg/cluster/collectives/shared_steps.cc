// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/collectives/shared_steps.h"

#include <algorithm>
#include <memory>

#include "thalweg/cluster/health/heartbeat_table.h"
#include "thalweg/proto/messages.h"

namespace thalweg {
namespace {

using std::chrono::seconds;

// A step that waits so long looks after the others, as often.
constexpr seconds kLooksEvery{1};
// It then asks whether they have begun it.
constexpr seconds kAsksHowFarAfter{5};
// It then says whom it waits for, and again after so long.
constexpr seconds kSpeaksAfter{10};
constexpr seconds kSpeaksEvery{30};
// Who does not answer for so long is gone.
constexpr seconds kSilentFor{10};
// So often in a row one that has answered is not reached before it is gone: a connection may end
// for other reasons.
constexpr int kFailuresOfGone = 2;
// Where the failures of a task begin that a watch has not asked yet or that has just greeted, so
// that it may fail once more: a call may still be refused as before it was there, until its channel
// connects anew.
constexpr int kFailuresOfNew = -1;
// For the others to hear of a failure, before the step ends here and perhaps the process.
constexpr std::chrono::milliseconds kHearWithin{500};
constexpr size_t kMostTold = 4096;  // tasks of which is kept what they told
constexpr size_t kMostNamed = 4;    // debts in a message

double SecondsOf(std::chrono::nanoseconds span) {
  return static_cast<double>(std::chrono::duration_cast<seconds>(span).count());
}

void AddPart(std::string_view part, std::string* text) {
  if (!text->empty()) *text += "; ";
  *text += part;
}

}  // namespace

// The answers to one Tell.
struct SharedSteps::Telling {
  StepWord word;
  Mutex mutex;
  size_t open GUARDED_BY(mutex) = 0;
  std::function<void()> done GUARDED_BY(mutex);

  void EndOne() EXCLUDES(mutex) {
    {
      MutexLock lock(mutex);
      if (--open > 0) return;
    }
    End();
  }
  void End() EXCLUDES(mutex) {
    std::function<void()> ended;
    {
      MutexLock lock(mutex);
      ended = std::exchange(done, nullptr);
    }
    if (ended) ended();
  }
};

SharedSteps::~SharedSteps() {
  Timer::Entry entry;
  {
    MutexLock lock(mutex_);
    stopped_ = true;
    entry = entry_;
  }
  stopping_.Cancel(Cancelled("the server is stopping"));
  environment_.timer().Remove(entry);  // no other is made any more
  MutexLock lock(mutex_);
  while (calls_ > 0) changed_.Wait(mutex_);  // they are cancelled, and answered at once
}

SharedSteps::Watch::Watch(SharedSteps& shared, Watched what, End end)
    : shared_(shared), what_(std::move(what)), end_(std::move(end)) {
  const TimePoint now = shared_.environment_.clock().Now();
  MutexLock lock(shared_.mutex_);
  if (!shared_.armed_) shared_.ticked_ = now;
  ticket_ = shared_.next_ticket_++;
  shared_.waits_[ticket_] = {.watch = this, .step = 0, .owed = nullptr, .begun = now, .seen = {}};
  shared_.Arm();
}

void SharedSteps::Watch::Begin(int64_t step, Owed owed) {
  MutexLock lock(shared_.mutex_);
  Wait& wait = shared_.waits_.at(ticket_);
  wait.step = step;
  wait.owed = std::move(owed);
  wait.begun = wait.moved = shared_.environment_.clock().Now();
}

SharedSteps::Watch::~Watch() {
  MutexLock lock(shared_.mutex_);
  shared_.waits_.erase(ticket_);
  // For one call of `owed` or `end_`, which wait for nothing.
  while (shared_.looked_at_.contains(ticket_)) shared_.changed_.Wait(shared_.mutex_);
}

void SharedSteps::Arm() {
  if (armed_ || stopped_ || waits_.empty()) return;
  armed_ = true;
  entry_ = environment_.timer().Add(Deadline::After(environment_.clock(), kLooksEvery),
                                    [this] { Tick(); });
}

void SharedSteps::Tick() {
  std::vector<uint64_t> tickets;
  {
    MutexLock lock(mutex_);
    const TimePoint now = environment_.clock().Now();
    // The process itself was away: it cannot tell who else was.
    const bool was_away = now - ticked_ > kSilentFor / 2;
    ticked_ = now;
    for (auto& [ticket, wait] : waits_) {
      if (was_away) {
        wait.seen.clear();
        wait.moved = now;
      }
      if (now - wait.begun >= kLooksEvery) tickets.push_back(ticket);
    }
  }
  for (const uint64_t ticket : tickets) Look(ticket);
  MutexLock lock(mutex_);
  armed_ = false;
  Arm();
}

// Judges by what is known, and asks for more.
void SharedSteps::Look(uint64_t ticket) {
  uint32_t session = 0;
  int64_t step = 0;
  Watch::Owed owed;
  std::string leader;
  {
    MutexLock lock(mutex_);
    const auto found = waits_.find(ticket);
    if (found == waits_.end() || stopped_ || !BeginLook(ticket)) return;
    session = found->second.watch->what_.session;
    leader = found->second.watch->what_.leader;
    step = found->second.step;
    owed = found->second.owed;
  }
  const CollectiveGroups::Sought sought = groups_.SoughtBy(session);
  std::vector<Debt> debts;
  if (step == 0) {
    debts.push_back({leader, "the number of the step"});
  } else if (owed) {
    debts = owed();
  }
  std::set<std::string> tasks;
  for (const Debt& debt : debts) tasks.insert(debt.task);
  if (step != 0 && sought.size > 0) {
    for (std::string& task : peers_.Others()) tasks.insert(std::move(task));
  } else if (step != 0 && sought.open > 0) {
    for (const CollectiveGroup::Member& member : sought.members) {
      tasks.emplace(TaskOf(member.device));
    }
  }
  tasks.erase(peers_.self());
  // It costs a look at all that the task does.
  const bool may_be_stuck = step != 0 && stuck_after_.count() > 0;
  const uint64_t progress = may_be_stuck ? own_progress_() : 0;
  Status ends;
  std::string text;
  std::vector<std::string> asked_how_far;
  {
    MutexLock lock(mutex_);
    const auto found = waits_.find(ticket);
    if (found != waits_.end() && !tasks.empty()) {
      Wait& wait = found->second;
      const TimePoint now = environment_.clock().Now();
      std::erase_if(wait.seen, [&](const auto& entry) { return !tasks.contains(entry.first); });
      for (const std::string& task : tasks) {
        wait.seen.try_emplace(task,
                              Seen{.heard = now, .failures = kFailuresOfNew, .last = OkStatus()});
      }
      ends = Judge(wait, sought, debts, now);
      if (may_be_stuck && ends.ok() && StandsStill(sought.size, progress, now, &wait)) {
        ends = StepIsStuck(now - wait.moved,
                           StrCat("\n  ", peers_.self(), ": waits for ",
                                  Missing(wait, {tasks.begin(), tasks.end()}, debts)));
      }
      const bool asks_how_far = step != 0 && now - wait.begun >= kAsksHowFarAfter;
      for (auto& [task, seen] : wait.seen) {
        if (!asks_how_far || peers_.KnownVersion(task) != PeerVersion::kThalweg) continue;
        if (!std::exchange(seen.asked, true)) asked_how_far.push_back(task);
      }
      if (ends.ok() && now - wait.begun >= kSpeaksAfter && now >= spoken_ + kSpeaksEvery) {
        spoken_ = now;
        text = StrCat(peers_.self(), " waits for others in a step of all workers for ",
                      SecondsOf(now - wait.begun),
                      " s now: ", Missing(wait, {tasks.begin(), tasks.end()}, debts));
      }
    }
  }
  if (!text.empty()) environment_.logger().Warning(text);
  for (const std::string& task : tasks) Ask(task);
  for (const std::string& task : asked_how_far) AskHowFar(task, step);
  if (!ends.ok()) EndWait(ticket, ends);
  EndLook(ticket);
}

void SharedSteps::EndLook(uint64_t ticket) {
  MutexLock lock(mutex_);
  looked_at_.erase(ticket);
  changed_.NotifyAll();
}

// Between BeginLook and EndLook.
void SharedSteps::EndWait(uint64_t ticket, const Status& why) {
  Watch* watch = nullptr;
  {
    MutexLock lock(mutex_);
    const auto found = waits_.find(ticket);
    if (found == waits_.end()) return;
    watch = found->second.watch;
  }
  watch->end_(why);
}

bool SharedSteps::IsGone(const std::string& task, const Seen& seen, TimePoint now) const {
  const auto known = tasks_.find(task);
  const bool is_met = known != tasks_.end() && known->second.met;
  if (!is_met && !peers_.KnownVersion(task).has_value()) return false;
  // One that has never answered here may be refused as before it was there: a channel says so until
  // it connects, which one that stands still does not do.
  const bool is_reached = known != tasks_.end() && known->second.reached;
  return (is_reached && seen.failures >= kFailuresOfGone) || now - seen.heard >= kSilentFor;
}

std::string SharedSteps::GoneText(const std::string& task, const Wait& wait, TimePoint now) const {
  const Seen& seen = wait.seen.at(task);
  std::string text =
      seen.failures >= kFailuresOfGone
          ? StrCat(task, " (", peers_.AddressOf(task), ") has ended: ", seen.last.message())
          : StrCat(task, " (", peers_.AddressOf(task), ") has not answered for ",
                   SecondsOf(now - seen.heard), " s");
  const auto known = tasks_.find(task);
  if (known == tasks_.end() || known->second.told.empty()) return text;
  return StrCat(text, "; before, it told: ", known->second.told);
}

// With what one that waits ends, as it is seen now.
Status SharedSteps::Judge(const Wait& wait, const CollectiveGroups::Sought& sought,
                          const std::vector<Debt>& debts, TimePoint now) const {
  const auto is_gone = [&](const std::string& task) REQUIRES(mutex_) {
    const auto seen = wait.seen.find(task);
    return seen != wait.seen.end() && IsGone(task, seen->second, now);
  };
  for (const Debt& debt : debts) {
    if (is_gone(debt.task)) return Unavailable(GoneText(debt.task, wait, now));
  }
  if (wait.step == 0) return OkStatus();
  if (sought.open > 0 && sought.size == 0) {
    for (const CollectiveGroup::Member& member : sought.members) {
      const std::string task(TaskOf(member.device));
      if (is_gone(task)) return Unavailable(GoneText(task, wait, now));
      const auto known = tasks_.find(task);
      const auto seen = wait.seen.find(task);
      if (known == tasks_.end() || seen == wait.seen.end() || !seen->second.answered) continue;
      const auto device = known->second.devices.find(member.device);
      if (device == known->second.devices.end() || member.incarnation == 0) continue;
      if (device->second == member.incarnation) continue;
      return Aborted(task, " has restarted since its group of collective operations was made");
    }
  }
  if (sought.size == 0) return OkStatus();
  std::string gone;
  int64_t left = static_cast<int64_t>(wait.seen.size()) + 1;  // with this one
  for (const auto& [task, seen] : wait.seen) {
    if (!IsGone(task, seen, now)) continue;
    --left;
    AddPart(GoneText(task, wait, now), &gone);
  }
  if (gone.empty() || left >= sought.size) return OkStatus();
  return Unavailable("a group of ", sought.size, " members cannot come together: ", gone);
}

// Whom one waits for.
std::string SharedSteps::Missing(const Wait& wait, const std::vector<std::string>& tasks,
                                 const std::vector<Debt>& debts) const {
  std::string missing;
  for (const std::string& task : tasks) {
    const Seen& seen = wait.seen.at(task);
    const std::string place = StrCat(task, " (", peers_.AddressOf(task), ")");
    if (!seen.last.ok()) {
      AddPart(StrCat(place, " does not answer: ", seen.last.message()), &missing);
    } else if (!seen.begun.value_or(true)) {
      AddPart(StrCat(place, " has not begun it"), &missing);
    }
  }
  for (size_t i = 0; missing.empty() && i < std::min(debts.size(), kMostNamed); ++i) {
    AddPart(StrCat(debts[i].what, " of ", debts[i].task), &missing);
  }
  if (missing.empty()) missing = StrCat("an answer of ", wait.watch->what_.leader);
  return missing;
}

std::optional<uint64_t> SharedSteps::ProgressOf(const Wait& wait, int64_t group_size,
                                                uint64_t own) const {
  uint64_t sum = own;
  int64_t there = 1;  // this one
  for (const auto& [task, seen] : wait.seen) {
    if (!seen.answered) continue;
    const auto known = tasks_.find(task);
    if (known == tasks_.end() || !known->second.progress.has_value()) return std::nullopt;
    sum += *known->second.progress + 1;
    ++there;
  }
  // One that has not answered has not started yet, and may take long to.
  const auto all = static_cast<int64_t>(wait.seen.size()) + 1;
  if (there < (group_size > 0 ? std::min(group_size, all) : all)) return std::nullopt;
  return sum;
}

bool SharedSteps::StandsStill(int64_t group_size, uint64_t own, TimePoint now, Wait* wait) const {
  const std::optional<uint64_t> progress = ProgressOf(*wait, group_size, own);
  if (!progress.has_value() || *progress != wait->progress) {
    wait->progress = progress.value_or(0);
    wait->moved = now;
  }
  return now - wait->moved >= stuck_after_;
}

bool SharedSteps::BeginCall() {
  MutexLock lock(mutex_);
  if (stopped_) return false;
  ++calls_;
  return true;
}

void SharedSteps::EndCall() {
  MutexLock lock(mutex_);
  --calls_;
  changed_.NotifyAll();
}

void SharedSteps::Ask(const std::string& task) {
  {
    MutexLock lock(mutex_);
    if (stopped_ || std::exchange(tasks_[task].asked, true)) return;
    ++calls_;
  }
  OwnedMessage request(pb::GetStatusRequest::Descriptor());
  // Without sessions: how far they are is asked of the step itself. Its error is an answer without.
  (void)AddHeartbeatRequest({.master = peers_.self(), .sessions = {}}, request.get());
  peers_.CallAside(task, "GetStatus", *request, pb::GetStatusResponse::Descriptor(),
                   {.timeout = kSilentFor, .cancellation = &stopping_},
                   [this, task](const Result<OwnedMessage>& answer) {
                     TakeStatus(task, answer);
                     EndCall();
                   });
}

void SharedSteps::TakeStatus(const std::string& task, const Result<OwnedMessage>& answer) {
  if (answer.ok()) peers_.NoteStatus(task, **answer);
  MutexLock lock(mutex_);
  Task& known = tasks_[task];
  known.asked = false;
  if (answer.ok()) {
    known.met = known.reached = true;
    const std::optional<HeartbeatPayload> beat = FindHeartbeat(**answer);
    known.progress = beat.has_value() ? std::optional(beat->progress) : std::nullopt;
    known.devices.clear();
    for (const Message* device : (*answer)->Messages(pb::GetStatusResponse::kDeviceAttributes)) {
      known.devices[std::string(device->GetString(pb::DeviceAttributes::kName))] =
          device->GetUint(pb::DeviceAttributes::kIncarnation);
    }
  }
  const bool is_silent = !answer.ok() && answer.status().code() == Code::kDeadlineExceeded;
  for (auto& [ticket, wait] : waits_) {
    const auto found = wait.seen.find(task);
    if (found == wait.seen.end()) continue;
    Seen& seen = found->second;
    seen.last = answer.status();
    if (answer.ok()) seen.heard = environment_.clock().Now();
    seen.answered = seen.answered || answer.ok();
    seen.failures = answer.ok() || is_silent ? 0 : seen.failures + 1;
  }
}

void SharedSteps::AskHowFar(const std::string& task, int64_t step) {
  const Result<OwnedMessage> request = EncodeStepWord({.step = step, .task = peers_.self()});
  if (!request.ok() || !BeginCall()) return;
  peers_.CallAside(task, "RecvBuf", **request, pb::RecvBufResponse::Descriptor(),
                   {.timeout = kSilentFor, .cancellation = &stopping_},
                   [this, task, step](const Result<OwnedMessage>& answer) {
                     TakeState(task, step, answer);
                     EndCall();
                   });
}

void SharedSteps::TakeState(const std::string& task, int64_t step,
                            const Result<OwnedMessage>& answer) {
  const Result<StepReply> state = answer.ok() ? DecodeStepReply(**answer) : answer.status();
  uint64_t ticket = 0;
  {
    MutexLock lock(mutex_);
    const auto at = std::ranges::find_if(
        waits_, [step](const auto& entry) { return entry.second.step == step; });
    if (at == waits_.end()) return;
    const auto found = at->second.seen.find(task);
    if (found == at->second.seen.end()) return;
    found->second.asked = false;
    if (!state.ok()) return;
    found->second.begun = state->begun;
    // One that is looked at now is asked for again.
    if (state->failed.ok() || !BeginLook(at->first)) return;
    ticket = at->first;
  }
  EndWait(ticket, state->failed);
  EndLook(ticket);
}

void SharedSteps::Hear(const StepWord& word) {
  MutexLock lock(mutex_);
  if (!tasks_.contains(word.task) && tasks_.size() >= kMostTold) return;
  Task& task = tasks_[word.task];
  task.met = true;
  if (!word.failed.ok()) task.told = word.failed.message();
  // Who waited for it to start has been refused until now.
  for (auto& [ticket, wait] : waits_) {
    const auto found = wait.seen.find(word.task);
    if (found == wait.seen.end()) continue;
    found->second.heard = environment_.clock().Now();
    found->second.failures = kFailuresOfNew;
  }
}

// A question about no step.
void SharedSteps::Greet() {
  const auto telling = std::make_shared<Telling>();
  telling->word.task = peers_.self();
  const std::vector<std::string> tasks = peers_.Others();
  {
    MutexLock lock(telling->mutex);
    telling->open = tasks.size();
  }
  for (const std::string& task : tasks) TellOne(task, telling);
}

void SharedSteps::Tell(StepWord word, uint32_t session, std::function<void()> done) {
  std::set<std::string> tasks;
  const CollectiveGroups::Sought sought = groups_.SoughtBy(session);
  for (const CollectiveGroup::Member& member : sought.members) tasks.emplace(TaskOf(member.device));
  if (tasks.empty() || sought.size > 0) {
    for (std::string& task : peers_.Others()) tasks.insert(std::move(task));
  }
  tasks.erase(peers_.self());
  const auto telling = std::make_shared<Telling>();
  telling->word = std::move(word);
  telling->word.task = peers_.self();
  {
    MutexLock lock(telling->mutex);
    telling->open = tasks.size() + 1;
    telling->done = std::move(done);
  }
  for (const std::string& task : tasks) TellOne(task, telling);
  telling->EndOne();
  environment_.timer().Add(Deadline::After(environment_.clock(), kHearWithin),
                           [telling] { telling->End(); });
}

// Tasks of TensorFlow's understand no such word: who is not known is asked.
void SharedSteps::TellOne(const std::string& task, const std::shared_ptr<Telling>& telling) {
  const std::optional<PeerVersion> version = peers_.KnownVersion(task);
  if (!BeginCall()) return telling->EndOne();
  if (!version.has_value()) {
    const OwnedMessage ask(pb::GetStatusRequest::Descriptor());
    return peers_.CallAside(task, "GetStatus", *ask, pb::GetStatusResponse::Descriptor(),
                            {.timeout = kSilentFor, .cancellation = &stopping_},
                            [this, task, telling](const Result<OwnedMessage>& answer) {
                              if (answer.ok()) {
                                peers_.NoteStatus(task, **answer);
                                TellOne(task, telling);
                              } else {
                                telling->EndOne();
                              }
                              EndCall();
                            });
  }
  const Result<OwnedMessage> request = EncodeStepWord(telling->word);
  if (*version != PeerVersion::kThalweg || !request.ok()) {
    telling->EndOne();
    return EndCall();
  }
  peers_.CallAside(task, "RecvBuf", **request, pb::RecvBufResponse::Descriptor(),
                   {.timeout = kSilentFor, .cancellation = &stopping_},
                   [this, telling](const Result<OwnedMessage>&) {
                     telling->EndOne();
                     EndCall();
                   });
}

}  // namespace thalweg
