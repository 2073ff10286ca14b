// SPDX-License-Identifier: Apache-2.0
// Health: the heartbeats of a task. As a master it asks the tasks of its open sessions, and ends
// the steps of a task that is lost, has restarted, or in which nothing moves. As a worker it ends
// the steps of a master that asks no more, and what came too early.
//
//   Health health(peers, clock, options, hooks);
//   health.OpenSession("s1", tasks);
//   Health::Watch watch(health, {step, tasks, timeout}, [&](const Status& why) { Fail(why); });
//
// Heartbeats are calls of GetStatus, which every release knows; between Thalweg tasks they carry
// more (heartbeat_payload.h). A thread of its own, from the first session or heartbeat on.
// Ownership: outlives its watches; when a watch has gone, its callback has ended or never comes.
// Threads: every member from any; callbacks run on Health's thread, without a lock.
// Errors: a watch hears Unavailable for a task that is lost, Aborted for one that has restarted,
// DeadlineExceeded for a step that is stuck or has used up its time.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "thalweg/base/mutex.h"
#include "thalweg/base/timer.h"
#include "thalweg/cluster/health/heartbeat_table.h"
#include "thalweg/cluster/peers/worker_clients.h"

namespace thalweg {

class Health {
 public:
  struct Hooks {
    // Open steps of this task: of these sessions, of all when null. Sets the sum of all progress.
    std::function<std::vector<StepReport>(const std::vector<std::string>* sessions, uint64_t* all)>
        report;
    // Ends the steps of a session whose master is lost; `forget`: it has been for so long that
    // nothing of it need be kept.
    std::function<void(const std::string& session, const Status& why, bool forget)> master_lost;
    std::function<bool()> busy;  // there is something to look after in tick()
    std::function<void()> tick;  // now and then, while anything is watched or busy
  };
  Health(WorkerClients& peers, Clock& clock, HealthOptions options, Hooks hooks);
  ~Health() { Stop(); }
  // No callback comes any more.
  void Stop() EXCLUDES(mutex_);

  const HealthOptions& options() const { return options_; }

  // As a master.
  void OpenSession(const std::string& session, const std::vector<std::string>& tasks)
      EXCLUDES(mutex_);
  void CloseSession(const std::string& session) EXCLUDES(mutex_);
  // As HeartbeatTable has them, for the error of a call.
  std::string Diagnostics(const std::string& task) EXCLUDES(mutex_);
  // The error of a call to a task that is gone or silent, with what is known of the task.
  Status WithTaskDiagnostics(const Status& status, const std::string& task) EXCLUDES(mutex_);

  // What is watched: a step, or another wait for tasks.
  struct Watched {
    int64_t step = 0;                     // as the tasks know it; 0: no step
    std::vector<std::string> tasks = {};  // this one, too, where it has a part
    std::chrono::nanoseconds timeout{0};  // 0: none
    std::chrono::nanoseconds spent{0};    // of what the caller gave, before the step began
  };
  // While it lives, its end is told, once: a task is lost or has restarted, nothing moves, or the
  // timeout has passed.
  class Watch {
   public:
    using End = std::function<void(const Status&)>;
    Watch(Health& health, Watched what, End end);
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;
    ~Watch();

   private:
    friend class Health;
    Health& health_;
    const Watched what_;
    const End end_;
    uint64_t ticket_ = 0;
    Timer::Entry time_out_;
    // Set when the timeout has passed and the tasks were asked what they wait for.
    std::optional<Clock::TimePoint> asked_;
  };

  // As a worker: a master that says in `request` (AddHeartbeatRequest) which sessions are its own
  // is heard of, and silent from now on. None: it says nothing of the kind.
  std::optional<HeartbeatRequest> HearMaster(const Message& request) EXCLUDES(mutex_);
  // As a worker: somebody asks for GetStatus.
  Status AnswerGetStatus(const Message& request, Message* response) EXCLUDES(mutex_);
  void ForgetSession(const std::string& session) EXCLUDES(mutex_);
  // Something came that tick() may have to end.
  void Wake() EXCLUDES(mutex_);

  // For people and dumps: one line a task that is watched, one a master.
  std::vector<std::string> Describe() EXCLUDES(mutex_);

 private:
  struct Master {
    std::string task;
    Clock::TimePoint heard{};
    bool lost = false;
  };
  void Tick() EXCLUDES(mutex_);
  void Arm(std::chrono::nanoseconds after) REQUIRES(mutex_);
  void Ask(const HeartbeatTable::Due& due) EXCLUDES(mutex_);
  void TakeAnswer(const std::string& task, const Result<OwnedMessage>& answer) EXCLUDES(mutex_);
  HeartbeatPayload MakeHeartbeat(const std::vector<std::string>* sessions) const;
  void TimeOut(uint64_t ticket) EXCLUDES(mutex_);
  void TellTimeOut(uint64_t ticket) EXCLUDES(mutex_);
  void Tell(uint64_t ticket, const Status& why) EXCLUDES(mutex_);
  void JudgeSteps(Clock::TimePoint now) EXCLUDES(mutex_);
  void JudgeMasters(Clock::TimePoint now) EXCLUDES(mutex_);

  WorkerClients& peers_;
  Clock& clock_;
  const HealthOptions options_;
  const Hooks hooks_;
  CancellationManager stopping_;  // of calls on their way
  Mutex mutex_;
  CondVar changed_;
  bool stopped_ GUARDED_BY(mutex_) = false;
  bool armed_ GUARDED_BY(mutex_) = false;
  Timer::Entry entry_ GUARDED_BY(mutex_);
  int calls_ GUARDED_BY(mutex_) = 0;  // on their way
  Clock::TimePoint ticked_ GUARDED_BY(mutex_){};
  uint64_t told_ GUARDED_BY(mutex_) = 0;  // the ticket whose callback runs
  HeartbeatTable table_ GUARDED_BY(mutex_);
  std::map<uint64_t, Watch*> watches_ GUARDED_BY(mutex_);
  std::map<std::string, Master> masters_ GUARDED_BY(mutex_);  // by session
  Timer timer_;                                               // last: its thread uses the others
};

}  // namespace thalweg
