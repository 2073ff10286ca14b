// SPDX-License-Identifier: Apache-2.0
// ClusterRunner: the PartitionRunner of a master: parts on this task run here, every other part is
// registered with its task once and then run by one call a step. Feeds and fetches of a remote part
// travel in that call; what the parts send each other they ask each other for.
//
// The first error ends the step everywhere, and names its task. Threads: as PartitionRunner.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "thalweg/base/mutex.h"
#include "thalweg/cluster/peers/peers.h"
#include "thalweg/cluster/worker/task_step.h"
#include "thalweg/session/partition_runner.h"

namespace thalweg {

class ClusterRunner : public PartitionRunner {
 public:
  struct Options {
    std::string session;                        // what the workers know it by
    size_t num_local_devices = 0;               // the first ones; the others are of `device_names`
    std::vector<std::string> device_names;      // of all devices
    std::vector<uint64_t> device_incarnations;  // likewise
    std::vector<std::string> tasks;             // told when the runner stops
    std::chrono::nanoseconds register_timeout{};  // of one call
  };
  // All outlive the runner.
  ClusterRunner(Peers& peers, StepTable& steps, PartitionRunner& local, Options options)
      : peers_(peers), steps_(steps), local_(local), options_(std::move(options)) {}

  Result<std::unique_ptr<PreparedStep>> Prepare(const PrepareRequest& request) override;
  void Stop(Status reason) override;

 private:
  friend class ClusterPreparedStep;

  Peers& peers_;
  StepTable& steps_;
  PartitionRunner& local_;
  const Options options_;
  std::atomic<int> next_graph_{1};
  // Cancelled by Stop(): the parent of every step.
  CancellationManager stopping_;
  Mutex mutex_;
  CondVar changed_;
  int running_ GUARDED_BY(mutex_) = 0;
  bool stopped_ GUARDED_BY(mutex_) = false;
};

}  // namespace thalweg
