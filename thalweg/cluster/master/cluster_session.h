// SPDX-License-Identifier: Apache-2.0
// MakeClusterSession: a session whose graph runs on the devices of several tasks. Asks every task
// that the filters admit for its devices, and tells it of the session; a graph without a device
// constraint runs on this task. Closing it tells the tasks. Tasks of ours that do not know this one
// are told where it is, and all of them what `cluster` says.
//
//   ASSIGN_OR_RETURN(auto session, MakeClusterSession(environment, peers, steps, channels, health,
//                                                     graph, {.device_filters = {"/job:ps"}}));
//
// Ownership: shares the environment and the graph; peers, steps, channels and health outlive it.
// Threads: blocks while tasks are asked.
// Errors: Unavailable that names the tasks which did not answer in time; InvalidArgument for a
// malformed filter.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "thalweg/cluster/channels/task_links.h"
#include "thalweg/cluster/master/cluster_runner.h"
#include "thalweg/cluster/peers/session_cluster.h"
#include "thalweg/session/session_core.h"

namespace thalweg {

struct ClusterSessionOptions {
  SessionOptions session;
  // Device names, whole or in part: tasks that none of them admits do not exist for the session.
  // None: all tasks.
  std::vector<std::string> device_filters;
  // A ClusterDef: where tasks are, whatever was known of them before; null: as known. Outlives the
  // making.
  const Message* cluster = nullptr;
  // It is the session's own: what it calls tasks is nobody else's business. Then with a Health of
  // its own. Null: tasks are called what they were started as, and all sessions hear where they
  // are.
  std::shared_ptr<SessionCluster> own_cluster;
  std::shared_ptr<Health> own_health;
  // The task where members of collective operations join; "": the first of the session's tasks.
  std::string collective_leader;
  // Values of other tasks are asked for when they are soon needed: passes/schedule_receives.h.
  bool schedule_receives = false;
  // From this task, to measure them where nodes are placed by cost; null: they are guessed.
  // Outlives the making.
  TaskLinks* links = nullptr;
  std::chrono::nanoseconds join_timeout = std::chrono::seconds(60);
  CancellationManager* cancellation = nullptr;  // of the making alone; null: none
};

// `peers`, `steps`, `channels` and `health` outlive the session.
Result<std::unique_ptr<Session>> MakeClusterSession(std::shared_ptr<Environment> environment,
                                                    WorkerClients& peers, RpcStepTable& steps,
                                                    ChannelManager& channels, Health& health,
                                                    std::shared_ptr<Graph> graph,
                                                    ClusterSessionOptions options);

// Empties containers of all other tasks, all when none is named. Unavailable that names the tasks
// which did not answer.
Status ResetTasks(WorkerClients& peers, const std::vector<std::string>& containers,
                  std::chrono::nanoseconds timeout);

}  // namespace thalweg
