// SPDX-License-Identifier: Apache-2.0
// ClusterRunner: the PartitionRunner of a master: parts on this task run here, every other part is
// registered with its task once and then run by one call a step. Feeds and fetches of a remote part
// travel in that call; what the parts send each other they ask each other for. Where all tasks of a
// step have channels to each other, it goes through those instead: START and DONE, and tensors that
// are pushed (ChannelSteps).
//
// The first error ends the step everywhere, and names its task; so does the loss of a task, and a
// deadline, which says who waited for what. Threads: as PartitionRunner.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "thalweg/base/mutex.h"
#include "thalweg/cluster/health/health.h"
#include "thalweg/cluster/peers/links.h"
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
    std::string collective_leader;              // a task
    std::chrono::nanoseconds register_timeout{};  // of one call
  };
  // All outlive the runner.
  ClusterRunner(Peers& peers, StepTable& steps, PeerLinks& links, Health& health,
                PartitionRunner& local, Options options)
      : peers_(peers),
        steps_(steps),
        links_(links),
        health_(health),
        local_(local),
        options_(std::move(options)) {
    health_.OpenSession(options_.session, options_.tasks);
    steps_.collectives()->SetLeader(options_.session, options_.collective_leader);
  }

  Result<std::unique_ptr<PreparedStep>> Prepare(const PrepareRequest& request) override;
  void Stop(Status reason) override;

 private:
  friend class ClusterPreparedStep;

  uint64_t SessionNumber() const { return NumberOfHandle(options_.session); }

  Peers& peers_;
  StepTable& steps_;
  PeerLinks& links_;
  Health& health_;
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
