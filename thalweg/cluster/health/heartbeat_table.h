// SPDX-License-Identifier: Apache-2.0
// HeartbeatTable: which tasks a master watches, when it heard from each, and which of its open
// steps must end because a task is lost or nothing moves. No thread, no clock, no socket: times
// come with the calls.
//
//   table.OpenSession("s1", {"/job:ps/replica:0/task:0"}, now);
//   const uint64_t step = table.BeginStep(7, {"/job:ps/replica:0/task:0"}, now);
//   for (const HeartbeatTable::Due& due : table.TakeDue(now)) Ask(due);
//   table.Answered("/job:ps/replica:0/task:0", incarnation, beat, now);
//   for (const HeartbeatTable::Verdict& verdict : table.Judge(now)) End(verdict);
//
// Ownership: keeps names, times and heartbeats by value; a step is its caller's ticket.
// Threads: one at a time. A task that answers again is as good as before: only the steps that
// were open are ended, once each.
// Errors: verdicts, which its owner hands to the steps: Unavailable for a task that is lost,
// Aborted for one that has started again, DeadlineExceeded for a step that is stuck; Validate:
// InvalidArgument.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "thalweg/base/clock.h"
#include "thalweg/cluster/health/heartbeat_payload.h"

namespace thalweg {

struct HealthOptions {
  // A task that has not answered for so long is lost. Heartbeats go out twelve times as often
  // while a step runs, three times as often else.
  std::chrono::milliseconds lost_after{3000};
  // A step in which no node ended and no value moved for so long is stuck; 0: never.
  std::chrono::milliseconds stuck_after{60'000};
  // A value that is asked for, or a part that waits, before its step begins here.
  std::chrono::milliseconds early_for{30'000};

  std::chrono::nanoseconds beat_in_step() const { return lost_after / 12; }
  std::chrono::nanoseconds beat_idle() const { return lost_after / 3; }
  // Both positive, lost_after at least 100 ms and at most an hour.
  Status Validate() const;
};

// The error of a step that is stuck: nothing has moved for so long. `who`: "\n  TASK: ..." lines.
Status StepIsStuck(std::chrono::nanoseconds still, std::string_view who);

class HeartbeatTable {
 public:
  using TimePoint = Clock::TimePoint;
  // `count_killed`: as CountKilledForMemory.
  explicit HeartbeatTable(HealthOptions options,
                          std::function<uint64_t()> count_killed = CountKilledForMemory)
      : options_(options), count_killed_(std::move(count_killed)) {}

  void OpenSession(const std::string& session, const std::vector<std::string>& tasks,
                   TimePoint now);
  void CloseSession(const std::string& session);
  // `id`: the step as workers know it, 0: a wait that is no step. Returns a ticket.
  uint64_t BeginStep(int64_t id, const std::vector<std::string>& tasks, TimePoint now);
  void EndStep(uint64_t ticket);

  struct Due {
    std::string task;
    std::vector<std::string> sessions;
  };
  // Whom to ask now; each is then asked, and answers or fails before it is due again.
  std::vector<Due> TakeDue(TimePoint now);
  // `incarnation`: of its first device. `beat`: none when it is no Thalweg task.
  void Answered(const std::string& task, uint64_t incarnation, std::optional<HeartbeatPayload> beat,
                TimePoint now);
  void Failed(const std::string& task, const Status& why);

  std::vector<std::string> SessionsOf(const std::string& task) const;

  bool HeardSince(const std::vector<std::string>& tasks, TimePoint then) const;

  // The table was not looked at for so long (the process was stopped): that time counts for nobody.
  void Excuse(TimePoint now, std::chrono::nanoseconds away);

  struct Verdict {
    uint64_t ticket = 0;
    Status why;
  };
  // Steps that must end. Each is named once.
  std::vector<Verdict> Judge(TimePoint now);

  // What is known of a task that is silent or gone: its process, its last heartbeat. "; ...".
  std::string Diagnostics(const std::string& task, TimePoint now) const;
  // What the tasks of the step said last: "TASK: TEXT" lines.
  std::string Explain(uint64_t ticket, TimePoint now) const;
  // Nobody is watched.
  bool idle() const { return tasks_.empty(); }
  // For people and dumps: one line a task.
  std::vector<std::string> Describe(TimePoint now) const;

 private:
  struct Task {
    int users = 0;  // sessions and steps
    int steps = 0;
    std::vector<std::string> sessions;
    TimePoint heard{};
    TimePoint asked{};
    bool in_flight = false;
    bool answered = false;
    uint64_t incarnation = 0;
    uint64_t killed_before = 0;  // CountKilledForMemory at the last answer
    // The same count of the memory group of its process, where that is of this machine.
    std::string group_counter;
    uint64_t killed_in_group = 0;
    std::optional<HeartbeatPayload> beat;
    Status last_error;
  };
  struct Step {
    int64_t id = 0;
    std::vector<std::string> tasks;
    std::vector<uint64_t> incarnations;  // 0: not heard yet
    TimePoint begun{};
    TimePoint moved{};
    uint64_t progress = 0;
    bool judged = false;
  };
  Task& Use(const std::string& name, TimePoint now);
  void Drop(const std::string& name);
  void CountKilled(TimePoint now);
  std::string DiagnosticsOf(const Task& task, TimePoint now) const;
  std::string MemoryText(const Task& task) const;
  std::string LostText(const std::string& name, const Task& task, TimePoint now) const;
  std::optional<Status> JudgeStep(Step& step, TimePoint now);
  // Nothing where a task does not tell.
  std::optional<uint64_t> ProgressOf(const Step& step) const;
  std::string ExplainStep(const Step& step, TimePoint now) const;

  const HealthOptions options_;
  const std::function<uint64_t()> count_killed_;
  uint64_t killed_ = 0;  // what it said last
  std::optional<TimePoint> counted_;
  std::map<std::string, Task> tasks_;
  std::map<std::string, std::vector<std::string>> sessions_;
  std::map<uint64_t, Step> steps_;
  uint64_t next_ticket_ = 1;
};

}  // namespace thalweg
