// SPDX-License-Identifier: Apache-2.0
// SharedSteps: the steps of this task that are one with steps of other tasks' sessions. While one
// waits for the others it looks after them: it ends when a task is gone that it waits for, and says
// in the log whom it waits for. One that fails tells the others, so that all end for its reason.
//
//   SharedSteps::Watch watch(shared, {.session = 3, .leader = leader},
//                            [&](const Status& why) { Cancel(why); });
//   watch.Begin(step, [&] { return rendezvous->Owed(); });
//   shared.Tell({.step = 7, .graph_key = key, .failed = why}, session, [] { ... });
//
// A task counts as gone when it has answered once in the life of this process and then is not to be
// reached twice in a row, three times where the watch is new or the task has greeted anew, or does
// not answer for 10 s. For one that has only greeted these 10 s alone count; who has done neither
// has not started yet. Where the members
// of a group are not known, as many must be left as it has. Where all that a step needs are there
// and nothing moves in any of them for long, it is stuck (health/heartbeat_table.h).
// Ownership: environment, peers and groups outlive it; it outlives its watches. When a watch has
// gone, its callback has ended or never comes.
// Threads: every member from any. Callbacks come on threads of the transport and the timer, without
// a lock.
// Errors: a watch hears Unavailable for a task that is gone, Aborted for one that has restarted,
// DeadlineExceeded for a step that is stuck.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "thalweg/base/cancellation.h"
#include "thalweg/base/mutex.h"
#include "thalweg/base/timer.h"
#include "thalweg/cluster/collectives/collective_group.h"
#include "thalweg/cluster/collectives/step_word.h"
#include "thalweg/cluster/peers/worker_clients.h"
#include "thalweg/session/environment.h"

namespace thalweg {

class SharedSteps {
 public:
  SharedSteps(Environment& environment, WorkerClients& peers, CollectiveGroups& groups)
      : environment_(environment), peers_(peers), groups_(groups) {}
  ~SharedSteps();
  SharedSteps(const SharedSteps&) = delete;
  SharedSteps& operator=(const SharedSteps&) = delete;

  // When a step is stuck (0: never), and what changes while anything moves in this task. Before the
  // first watch; `progress` is called without a lock, while this object lives, for steps that may
  // be stuck.
  void WatchProgress(std::chrono::milliseconds stuck_after, std::function<uint64_t()> progress) {
    stuck_after_ = stuck_after;
    own_progress_ = std::move(progress);
  }
  // Tells the other tasks that this one is there, so that they know when it has ended, and looks
  // who is there. Nobody is waited for.
  void Greet() EXCLUDES(mutex_);

  // What a task owes a step, or is to take from it.
  struct Debt {
    std::string task;
    std::string what;
  };
  struct Watched {
    uint32_t session = 0;
    std::string leader;  // a task, who is asked for the step's number
  };
  class Watch {
   public:
    using End = std::function<void(const Status&)>;
    using Owed = std::function<std::vector<Debt>()>;
    Watch(SharedSteps& shared, Watched what, End end);
    ~Watch();
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;
    // Its number is known. `owed` is called without a lock, until this has gone.
    void Begin(int64_t step, Owed owed);

   private:
    friend class SharedSteps;
    SharedSteps& shared_;
    const Watched what_;
    const End end_;
    uint64_t ticket_ = 0;
  };

  // Tells the others of the session's groups that a step has failed here. `done` comes once: when
  // they have answered, or half a second later.
  void Tell(StepWord word, uint32_t session, std::function<void()> done) EXCLUDES(mutex_);
  // Another task has told something.
  void Hear(const StepWord& word) EXCLUDES(mutex_);

 private:
  using TimePoint = Clock::TimePoint;
  // What is known of another task, whoever waits.
  struct Task {
    bool met = false;      // it has answered once, or told something
    bool reached = false;  // it has answered once
    bool asked = false;
    std::string told;                         // how its last step has failed
    std::map<std::string, uint64_t> devices;  // their incarnations, as it said last
    std::optional<uint64_t> progress;         // changes while anything moves there, as it said last
  };
  // What one that waits has seen of a task.
  struct Seen {
    TimePoint heard{};
    int failures = 0;  // in a row
    bool answered = false;
    bool asked = false;         // how far it is, and has not said so yet
    std::optional<bool> begun;  // whether it has begun the step, as it said last
    Status last;                // of the last call
  };
  struct Wait {
    Watch* watch = nullptr;
    int64_t step = 0;
    Watch::Owed owed;
    TimePoint begun{};
    std::map<std::string, Seen> seen;
    TimePoint moved{};
    uint64_t progress = 0;  // of all tasks that it needs, then
  };
  struct Telling;

  void Arm() REQUIRES(mutex_);
  void Tick() EXCLUDES(mutex_);
  void Look(uint64_t ticket) EXCLUDES(mutex_);
  void Ask(const std::string& task) EXCLUDES(mutex_);
  void TakeStatus(const std::string& task, const Result<OwnedMessage>& answer) EXCLUDES(mutex_);
  // What a ticket's callbacks are called between: its watch stays until EndLook.
  bool BeginLook(uint64_t ticket) REQUIRES(mutex_) { return looked_at_.insert(ticket).second; }
  void EndLook(uint64_t ticket) EXCLUDES(mutex_);
  void EndWait(uint64_t ticket, const Status& why) EXCLUDES(mutex_);
  void AskHowFar(const std::string& task, int64_t step) EXCLUDES(mutex_);
  void TakeState(const std::string& task, int64_t step, const Result<OwnedMessage>& answer)
      EXCLUDES(mutex_);
  void TellOne(const std::string& task, const std::shared_ptr<Telling>& telling) EXCLUDES(mutex_);
  bool IsGone(const std::string& task, const Seen& seen, TimePoint now) const REQUIRES(mutex_);
  std::string GoneText(const std::string& task, const Wait& wait, TimePoint now) const
      REQUIRES(mutex_);
  Status Judge(const Wait& wait, const CollectiveGroups::Sought& sought,
               const std::vector<Debt>& debts, TimePoint now) const REQUIRES(mutex_);
  std::string Missing(const Wait& wait, const std::vector<std::string>& tasks,
                      const std::vector<Debt>& debts) const REQUIRES(mutex_);
  // Nothing where not all that it needs have answered, or one of them does not tell.
  std::optional<uint64_t> ProgressOf(const Wait& wait, int64_t group_size, uint64_t own) const
      REQUIRES(mutex_);
  // Whether nothing has moved for as long as makes it stuck.
  bool StandsStill(int64_t group_size, uint64_t own, TimePoint now, Wait* wait) const
      REQUIRES(mutex_);
  // Whether a call may go out; each ends with EndCall.
  bool BeginCall() EXCLUDES(mutex_);
  void EndCall() EXCLUDES(mutex_);

  Environment& environment_;
  WorkerClients& peers_;
  CollectiveGroups& groups_;
  std::chrono::milliseconds stuck_after_{0};
  std::function<uint64_t()> own_progress_;
  CancellationManager stopping_;  // of calls on their way
  Mutex mutex_;
  CondVar changed_;
  bool stopped_ GUARDED_BY(mutex_) = false;
  bool armed_ GUARDED_BY(mutex_) = false;
  Timer::Entry entry_ GUARDED_BY(mutex_);
  TimePoint ticked_ GUARDED_BY(mutex_){};
  TimePoint spoken_ GUARDED_BY(mutex_) = TimePoint::min() + std::chrono::hours(1);
  int calls_ GUARDED_BY(mutex_) = 0;
  uint64_t next_ticket_ GUARDED_BY(mutex_) = 1;
  std::set<uint64_t> looked_at_ GUARDED_BY(mutex_);  // whose callbacks run
  std::map<uint64_t, Wait> waits_ GUARDED_BY(mutex_);
  std::map<std::string, Task> tasks_ GUARDED_BY(mutex_);
};

}  // namespace thalweg
