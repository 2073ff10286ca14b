// SPDX-License-Identifier: Apache-2.0
// ClusterRunner: the PartitionRunner of a master: parts on this task run here, every other part is
// registered with its task once. A step is then run by a StepRunner: through channels where all its
// tasks have them to each other, else by calls.
//
//   ClusterRunner runner(peers, steps, channels, health, local, std::move(options));
//   ASSIGN_OR_RETURN(std::unique_ptr<PreparedStep> step, runner.Prepare(request));
//
// Ownership: what it is made with outlives it.
// Threads: as PartitionRunner.
// Errors: those of the step's first failure.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "thalweg/base/mutex.h"
#include "thalweg/cluster/master/part_graph.h"
#include "thalweg/cluster/master/step_runner.h"
#include "thalweg/session/partition_runner.h"

namespace thalweg {

class ClusterRunner : public PartitionRunner {
 public:
  struct Options {
    // A cluster of the session's own, with the heartbeats of its tasks; null: the server's.
    std::shared_ptr<SessionCluster> cluster;
    std::shared_ptr<Health> health;
    std::string session;                          // what the workers know it by
    size_t num_local_devices = 0;                 // the first ones; the others are of other tasks
    std::vector<std::string> device_names;        // of all devices
    std::vector<uint64_t> device_incarnations;    // of all devices
    std::vector<std::string> tasks;               // told when the runner stops
    std::string collective_leader;                // a task
    bool leader_is_shared = true;                 // by all sessions of the cluster that name none
    bool leader_is_named = false;                 // so members are expected in other sessions
    std::chrono::nanoseconds register_timeout{};  // of one call
    std::function<WorkQueue&()> background;       // ends steps that no thread calls
    Timer* timer = nullptr;                       // never null, and outlives the runner
  };
  // All outlive the runner.
  ClusterRunner(WorkerClients& peers, RpcStepTable& steps, ChannelManager& channels, Health& health,
                PartitionRunner& local, Options options);

  Result<std::unique_ptr<PreparedStep>> Prepare(const PrepareRequest& request) override;
  void Cancel(Status reason) override;
  void Stop(Status reason) override;

 private:
  friend class PartRegistration;
  friend class ClusterPreparedStep;

  uint64_t SessionNumber() const { return NumberOfHandle(options_.session); }
  // An error after Stop; else StepEnds is called when the step has.
  Status StepBegins() EXCLUDES(mutex_);
  void StepEnds() EXCLUDES(mutex_);

  PartitionRunner& local_;
  const Options options_;
  // Cancelled by Cancel(): the parent of every step.
  CancellationManager stopping_;
  const RunnerContext context_;
  PartGraphs graphs_;
  Mutex mutex_;
  CondVar changed_;
  int running_ GUARDED_BY(mutex_) = 0;
  bool stopped_ GUARDED_BY(mutex_) = false;
};

}  // namespace thalweg
