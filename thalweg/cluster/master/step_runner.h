// SPDX-License-Identifier: Apache-2.0
// StepRunner: one way to run a step over several tasks whose parts are registered: by calls
// (RpcStepRunner), which every release of TensorFlow takes part in, or through channels
// (ChannelStepRunner), between tasks of ours.
//
//   Status status = runner.Run(request);     // returns when nothing of the step runs any more
//
// Ownership: parts and what the context names outlive a runner; a request is used until Run
// returns.
// Threads: Run from any, several at once.
// Errors: the first error ends the step everywhere, and names its task; so does the loss of a task,
// and a deadline, which says who waited for what.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "thalweg/base/cancellation.h"
#include "thalweg/base/timer.h"
#include "thalweg/cluster/channels/channel_manager.h"
#include "thalweg/cluster/health/health.h"
#include "thalweg/cluster/master/local_parts.h"
#include "thalweg/cluster/master/part_graph.h"
#include "thalweg/cluster/peers/worker_clients.h"
#include "thalweg/cluster/steps/rpc_rendezvous.h"

namespace thalweg {

// What runners work with; all outlive them.
struct RunnerContext {
  WorkerClients& peers;
  RpcStepTable& steps;
  ChannelManager& channels;
  Health& health;
  Timer& timer;
  CancellationManager& stopping;                   // the parent of every step
  const std::string& session;                      // what the workers know it by
  const std::function<WorkQueue&()>& background;   // ends steps that no thread calls
  const std::shared_ptr<SessionCluster>& cluster;  // the session's own; null: the server's
  Clock::TimePoint made{};                         // when the session was
};

// The parts of a step, where they run.
struct StepParts {
  LocalParts local;
  std::vector<RemotePart> remote;
  std::vector<std::string> tasks;       // of all parts, each once
  std::vector<std::string> loop_peers;  // tasks that loops of the local parts receive from
  bool exchanges_buffers = false;       // members of collective operations are TensorFlow's
  bool lacks_members = false;           // some are in steps of other sessions
};

class StepRunner {
 public:
  virtual ~StepRunner() = default;
  virtual Status Run(const StepRequest& request) = 0;
};

// The deadline is the master's: it says who waited. A worker that hears no more of it ends alone.
inline std::chrono::nanoseconds TimeoutOfWorkers(const StepRequest& step) {
  constexpr std::chrono::seconds kLater{5};
  return step.timeout.count() > 0 ? step.timeout + kLater : step.timeout;
}

// What Health watches of a step.
inline Health::Watched WatchedStep(int64_t id, const StepParts& parts, const StepRequest& step) {
  return {.step = id, .tasks = parts.tasks, .timeout = step.timeout, .spent = step.spent};
}

}  // namespace thalweg
