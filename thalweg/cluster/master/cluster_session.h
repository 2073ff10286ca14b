// SPDX-License-Identifier: Apache-2.0
// MakeClusterSession: a session whose graph runs on the devices of several tasks. Asks every task
// that the filters admit for its devices, and tells it of the session; a graph without a device
// constraint runs on this task. Closing it tells the tasks.
//
// Threads: blocks while tasks are asked. Errors: Unavailable that names the tasks which did not
// answer in time; InvalidArgument for a malformed filter.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "thalweg/cluster/master/cluster_runner.h"
#include "thalweg/session/session_core.h"

namespace thalweg {

struct ClusterSessionOptions {
  SessionOptions session;
  // Device names, whole or in part: tasks that none of them admits do not exist for the session.
  // None: all tasks.
  std::vector<std::string> device_filters;
  std::chrono::nanoseconds join_timeout = std::chrono::seconds(60);
};

// `peers` and `steps` outlive the session.
Result<std::unique_ptr<Session>> MakeClusterSession(std::shared_ptr<Environment> environment,
                                                    Peers& peers, StepTable& steps,
                                                    std::shared_ptr<Graph> graph,
                                                    const ClusterSessionOptions& options);

}  // namespace thalweg
