// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/health/heartbeat_table.h"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace thalweg {
namespace {

using std::chrono::nanoseconds;

// Counting reads a file of the kernel, which costs more than a small step.
constexpr std::chrono::milliseconds kCountAgain{100};

std::string Seconds(nanoseconds span) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", std::chrono::duration<double>(span).count());
  return text;
}

std::string Megabytes(uint64_t bytes) { return StrCat((bytes + 999'999) / 1'000'000, " MB"); }

const StepReport* FindStep(const std::optional<HeartbeatPayload>& beat, int64_t id) {
  if (!beat.has_value()) return nullptr;
  for (const StepReport& step : beat->steps) {
    if (step.id == id) return &step;
  }
  return nullptr;
}

}  // namespace

Status HealthOptions::Validate() const {
  using std::chrono::hours;
  if (lost_after < std::chrono::milliseconds(100) || lost_after > hours(1)) {
    return InvalidArgument("lost_after is ", lost_after.count(),
                           " ms; expected 100 ms to an hour: a task that is silent for so long "
                           "is taken for lost");
  }
  if (stuck_after < std::chrono::milliseconds(0) || stuck_after > hours(24 * 365)) {
    return InvalidArgument("stuck_after is ", stuck_after.count(),
                           " ms; expected 0 (never) or up to a year");
  }
  if (early_for < std::chrono::milliseconds(1) || early_for > hours(24)) {
    return InvalidArgument("early_for is ", early_for.count(), " ms; expected 1 ms to a day");
  }
  return OkStatus();
}

Status StepIsStuck(nanoseconds still, std::string_view who) {
  return DeadlineExceeded("the step is stuck: no node ended and no value moved in any task for ",
                          Seconds(still), ":", who);
}

HeartbeatTable::Task& HeartbeatTable::Use(const std::string& name, TimePoint now) {
  Task& task = tasks_[name];
  if (task.users++ == 0) {
    task.heard = now;
    if (!counted_.has_value() || now - *counted_ >= kCountAgain) CountKilled(now);
    task.killed_before = killed_;
  }
  return task;
}

void HeartbeatTable::CountKilled(TimePoint now) {
  killed_ = count_killed_();
  counted_ = now;
}

void HeartbeatTable::Drop(const std::string& name) {
  const auto found = tasks_.find(name);
  if (--found->second.users == 0) tasks_.erase(found);
}

void HeartbeatTable::OpenSession(const std::string& session, const std::vector<std::string>& tasks,
                                 TimePoint now) {
  if (!sessions_.emplace(session, tasks).second) return;
  for (const std::string& name : tasks) Use(name, now).sessions.push_back(session);
}

void HeartbeatTable::CloseSession(const std::string& session) {
  const auto found = sessions_.find(session);
  if (found == sessions_.end()) return;
  for (const std::string& name : found->second) {
    std::erase(tasks_.at(name).sessions, session);
    Drop(name);
  }
  sessions_.erase(found);
}

uint64_t HeartbeatTable::BeginStep(int64_t id, const std::vector<std::string>& tasks,
                                   TimePoint now) {
  Step step{.id = id, .tasks = tasks, .incarnations = {}, .begun = now, .moved = now};
  for (const std::string& name : tasks) {
    Task& task = Use(name, now);
    ++task.steps;
    step.incarnations.push_back(task.incarnation);
  }
  steps_.emplace(next_ticket_, std::move(step));
  return next_ticket_++;
}

void HeartbeatTable::EndStep(uint64_t ticket) {
  const auto found = steps_.find(ticket);
  if (found == steps_.end()) return;
  for (const std::string& name : found->second.tasks) {
    --tasks_.at(name).steps;
    Drop(name);
  }
  steps_.erase(found);
}

std::vector<HeartbeatTable::Due> HeartbeatTable::TakeDue(TimePoint now) {
  std::vector<Due> due;
  for (auto& [name, task] : tasks_) {
    const nanoseconds every = task.steps > 0 ? options_.beat_in_step() : options_.beat_idle();
    if (task.in_flight || now - task.asked < every) continue;
    task.in_flight = true;
    task.asked = now;
    due.push_back({name, task.sessions});
  }
  return due;
}

void HeartbeatTable::Answered(const std::string& name, uint64_t incarnation,
                              std::optional<HeartbeatPayload> beat, TimePoint now) {
  const auto found = tasks_.find(name);
  if (found == tasks_.end()) return;
  Task& task = found->second;
  task.in_flight = false;
  task.answered = true;
  task.heard = now;
  task.incarnation = incarnation;
  const bool is_here = beat.has_value() && beat->process.machine == OwnIdentity().machine;
  if (is_here && (!task.beat.has_value() || task.beat->process.pid != beat->process.pid)) {
    task.group_counter = FindKillCounter(beat->process.pid);
  }
  task.killed_in_group = ReadKillCounter(task.group_counter);
  task.beat = std::move(beat);
  task.last_error = OkStatus();
  CountKilled(now);
  task.killed_before = killed_;
}

void HeartbeatTable::Failed(const std::string& name, const Status& why) {
  const auto found = tasks_.find(name);
  if (found == tasks_.end()) return;
  found->second.in_flight = false;
  found->second.last_error = why;
}

std::vector<std::string> HeartbeatTable::SessionsOf(const std::string& name) const {
  const auto found = tasks_.find(name);
  return found == tasks_.end() ? std::vector<std::string>() : found->second.sessions;
}

bool HeartbeatTable::HeardSince(const std::vector<std::string>& tasks, TimePoint then) const {
  return std::ranges::all_of(tasks, [&](const std::string& name) {
    const auto found = tasks_.find(name);
    return found != tasks_.end() && found->second.heard >= then;
  });
}

void HeartbeatTable::Excuse(TimePoint now, nanoseconds away) {
  for (auto& [name, task] : tasks_) task.heard = std::min(now, task.heard + away);
  for (auto& [ticket, step] : steps_) step.moved = std::min(now, step.moved + away);
}

std::string HeartbeatTable::LostText(const std::string& name, const Task& task,
                                     TimePoint now) const {
  std::string text = StrCat(name, " is lost: it has not answered for ", Seconds(now - task.heard));
  if (!task.last_error.ok() && task.last_error.code() != Code::kDeadlineExceeded) {
    text += StrCat(" (", task.last_error.message(), ")");
  }
  return text + DiagnosticsOf(task, now);
}

std::string HeartbeatTable::Diagnostics(const std::string& name, TimePoint now) const {
  const auto found = tasks_.find(name);
  return found == tasks_.end() ? "" : DiagnosticsOf(found->second, now);
}

// Whether a process of this machine that is gone was killed for want of memory, or ended otherwise.
std::string HeartbeatTable::MemoryText(const Task& task) const {
  if (task.beat->process.machine != OwnIdentity().machine) return "";
  const uint64_t in_group = ReadKillCounter(task.group_counter);
  if (in_group > task.killed_in_group) {
    return StrCat("; killed for memory: the kernel has ended ", in_group - task.killed_in_group,
                  " process(es) of its memory group meanwhile (", task.group_counter, ")");
  }
  const uint64_t killed = count_killed_();
  if (killed > task.killed_before) {
    return StrCat("; killed for memory: the kernel has ended ", killed - task.killed_before,
                  " process(es) of this machine meanwhile");
  }
  if (!HasEnded(task.beat->process)) return "";
  return "; it has crashed, was killed or has left: the kernel has killed nothing for want of "
         "memory";
}

std::string HeartbeatTable::DiagnosticsOf(const Task& task, TimePoint now) const {
  if (!task.answered) return "; it has not been heard of since the session began";
  if (!task.beat.has_value()) return "; it is no Thalweg task, and has told nothing else";
  std::string text;
  const std::string process = DescribeProcess(task.beat->process);
  if (!process.empty()) text += StrCat("; ", process);
  text += MemoryText(task);
  text += StrCat("; last heartbeat ", Seconds(now - task.heard),
                 " ago: ", Megabytes(task.beat->memory.resident_bytes), " resident, peak ",
                 Megabytes(task.beat->memory.peak_bytes));
  for (const StepReport& step : task.beat->steps) {
    text += StrCat(", step ", step.id, ": ", step.text.empty() ? "nothing waits" : step.text);
  }
  return text;
}

// Changes when something of the step moves on any of its tasks.
std::optional<uint64_t> HeartbeatTable::ProgressOf(const Step& step) const {
  uint64_t sum = 0;
  for (const std::string& name : step.tasks) {
    const Task& task = tasks_.at(name);
    if (!task.beat.has_value()) return std::nullopt;
    const StepReport* const report = FindStep(task.beat, step.id);
    if (report == nullptr) continue;
    sum += report->progress + 1;
    // Who waits for a queue waits for other steps of that task.
    if (report->waits_outside) sum += task.beat->progress;
  }
  return sum;
}

std::string HeartbeatTable::ExplainStep(const Step& step, TimePoint now) const {
  std::string text;
  for (const std::string& name : step.tasks) {
    const Task& task = tasks_.at(name);
    const StepReport* const report = FindStep(task.beat, step.id);
    text += StrCat("\n  ", name, ": ");
    if (report != nullptr) {
      text += report->text.empty() ? "nothing waits" : report->text;
    } else if (task.answered && !task.beat.has_value()) {
      text += "is no Thalweg task, and does not say";
    } else if (task.answered) {
      text += "has nothing of the step";
    } else {
      text += "has not answered yet";
    }
    const nanoseconds silent = now - task.heard;
    if (silent > options_.beat_idle()) text += StrCat(" (silent for ", Seconds(silent), ")");
  }
  return text;
}

std::optional<Status> HeartbeatTable::JudgeStep(Step& step, TimePoint now) {
  for (size_t i = 0; i < step.tasks.size(); ++i) {
    const std::string& name = step.tasks[i];
    const Task& task = tasks_.at(name);
    if (now - std::max(task.heard, step.begun) >= options_.lost_after) {
      return Unavailable(LostText(name, task, now));
    }
    uint64_t& known = step.incarnations[i];
    if (known == 0) known = task.incarnation;
    if (task.answered && known != task.incarnation) {
      return Aborted(name, " has restarted: another incarnation answers, and what it held is gone");
    }
  }
  if (step.id == 0) return std::nullopt;
  const std::optional<uint64_t> progress = ProgressOf(step);
  if (!progress.has_value() || *progress != step.progress) {
    step.progress = progress.value_or(0);
    step.moved = now;
  }
  if (options_.stuck_after.count() == 0 || now - step.moved < options_.stuck_after) {
    return std::nullopt;
  }
  return StepIsStuck(now - step.moved, ExplainStep(step, now));
}

std::vector<HeartbeatTable::Verdict> HeartbeatTable::Judge(TimePoint now) {
  std::vector<Verdict> verdicts;
  for (auto& [ticket, step] : steps_) {
    if (step.judged) continue;
    std::optional<Status> why = JudgeStep(step, now);
    if (!why.has_value()) continue;
    step.judged = true;
    verdicts.push_back({ticket, *std::move(why)});
  }
  return verdicts;
}

std::string HeartbeatTable::Explain(uint64_t ticket, TimePoint now) const {
  const auto found = steps_.find(ticket);
  return found == steps_.end() ? "" : ExplainStep(found->second, now);
}

std::vector<std::string> HeartbeatTable::Describe(TimePoint now) const {
  std::vector<std::string> lines;
  for (const auto& [name, task] : tasks_) {
    const nanoseconds silent = now - task.heard;
    const char* const state = silent >= options_.lost_after    ? "lost"
                              : silent >= options_.beat_idle() ? "suspect"
                                                               : "alive";
    lines.push_back(
        StrCat(name, " ", state, ", heard of ", Seconds(silent), " ago, ", task.sessions.size(),
               " sessions, ", task.steps, " steps",
               task.beat.has_value()
                   ? StrCat(", ", Megabytes(task.beat->memory.resident_bytes), " resident")
                   : ""));
  }
  return lines;
}

}  // namespace thalweg
