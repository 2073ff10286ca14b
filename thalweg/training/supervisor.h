// SPDX-License-Identifier: Apache-2.0
// TrainingSupervisor: training that survives its tasks (papers A3.3.3, B4.3), by the rules of
// Python's MonitoredTrainingSession. The chief restores the newest complete checkpoint, or
// initializes, and saves every so many steps; a worker waits until the variables are there. A step
// that fails with Aborted or Unavailable makes the session again, waits for tasks that are away,
// and is run again: what it had done is undone by the restore of a chief. A worker's step may have
// been applied before its answer was lost: where that matters, updates are the chief's
// (SyncReplicasOptimizer).
//
//   TrainingSupervisor supervisor([&] { return MakeRemoteSession(environment, graph, target); },
//                                 &saver, {.initializers = {"init"}, .ready = {"w_is_set"},
//                                          .global_step = "global_step:0", .path = "/models/m"});
//   while (step < last) RETURN_IF_ERROR(supervisor.Run({}, fetches, train, &out));
//
// Ownership: shares its session; the saver outlives it.
// Threads: one at a time.
// Errors: those of steps; when the deadline of a renewal passes, the last one that it met.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "thalweg/base/clock.h"
#include "thalweg/base/deadline.h"
#include "thalweg/base/file_system.h"
#include "thalweg/base/status.h"
#include "thalweg/session/session.h"
#include "thalweg/training/saver.h"

namespace thalweg {

struct TrainingSupervisorOptions {
  bool is_chief = true;
  std::vector<std::string> initializers;  // targets: run by a chief without a checkpoint
  std::vector<std::string> local;         // targets: run at the begin of every session
  std::vector<std::string> ready;         // bool scalars, all true when variables are there
  std::string global_step;                // an int64 scalar; names checkpoints
  std::string path;                       // of checkpoints, PATH-STEP; "": none
  int64_t save_every_steps = 1000;
  // How long a renewal tries.
  std::chrono::nanoseconds patience = std::chrono::hours(2);
};

class TrainingSupervisor {
 public:
  using MakeSession = std::function<Result<std::shared_ptr<Session>>()>;

  TrainingSupervisor(MakeSession make_session, Saver* saver, TrainingSupervisorOptions options);

  // A step of a session that is ready.
  Status Run(std::span<const Session::NamedTensor> feeds, std::span<const std::string> fetches,
             std::span<const std::string> targets, std::vector<Tensor>* outputs);
  // Saves now, as a chief does by itself every save_every_steps; nothing for a worker.
  Status Save();
  // How often a session was made again.
  int renewals() const { return renewals_; }
  // Null before the first Run.
  const std::shared_ptr<Session>& session() const { return session_; }

 private:
  Status Prepare();
  Status PrepareOnce();
  Status Begin(Session& session);
  Result<bool> IsReady(Session& session) const;
  Result<int64_t> GlobalStep(Session& session) const;
  Status SaveWhenDue();
  Status RunTargets(Session& session, const std::vector<std::string>& targets) const;

  MakeSession make_session_;
  Saver* saver_;
  TrainingSupervisorOptions options_;
  PosixFileSystem fs_;
  SystemClock clock_;
  std::shared_ptr<Session> session_;
  std::optional<int64_t> saved_step_;
  int renewals_ = 0;
};

}  // namespace thalweg
