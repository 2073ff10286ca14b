// SPDX-License-Identifier: Apache-2.0
// TaskLinks: what the links from this task to others can do, measured when a session that places
// nodes by cost asks, and kept.
//
//   TaskLinks links(channels, peers, clock);
//   const std::optional<LinkModel> link = links.To("/job:ps/replica:0/task:0", end);
//
// It is measured as values go: through the channel between the two, which is made where there is
// none; where there can be none, by calls. A figure holds for ten minutes, and that there is none
// for one.
// Ownership: what it is made with outlives it.
// Threads: every member from any; To waits, for half a second at most once there is a channel.
// Errors: none; nothing where the other task is not there, is too old, or does not answer in time.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "thalweg/base/deadline.h"
#include "thalweg/base/mutex.h"
#include "thalweg/cluster/channels/channel_manager.h"
#include "thalweg/cluster/channels/link_measurement.h"
#include "thalweg/cluster/peers/worker_clients.h"

namespace thalweg {

// How long a task may take for all that a session asks of it.
inline constexpr std::chrono::milliseconds kMeasuringTime{1000};

class TaskLinks {
 public:
  TaskLinks(ChannelManager& channels, WorkerClients& peers, const Clock& clock,
            const LinkLimits& limits = {})
      : channels_(channels), peers_(peers), clock_(clock), limits_(limits) {}

  std::optional<LinkModel> To(const std::string& task, Deadline end) EXCLUDES(mutex_);

 private:
  struct Kept {
    std::optional<LinkModel> link;
    Clock::TimePoint until;
  };
  Result<LinkModel> Measure(const std::string& task, Deadline end);

  ChannelManager& channels_;
  WorkerClients& peers_;
  const Clock& clock_;
  const LinkLimits limits_;
  Mutex mutex_;
  std::map<std::string, Kept> kept_ GUARDED_BY(mutex_);  // by task
};

}  // namespace thalweg
