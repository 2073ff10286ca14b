// SPDX-License-Identifier: Apache-2.0
// SessionCluster: a cluster that a session brings along (ConfigProto.cluster_def): what its tasks
// are called there and where they listen, whatever the servers were started as.
//
//   ASSIGN_OR_RETURN(const SessionCluster::Self self, SessionCluster::FindSelf(spec, addresses));
//   ASSIGN_OR_RETURN(auto cluster, SessionCluster::Make(environment, spec, self, tls));
//   WorkerClients& tasks = cluster->peers;                 // under the names that they have there
//
// Ownership: shares the environment; sessions, graphs and steps of the cluster share it.
// Threads: every member from any.
// Errors: InvalidArgument that says what the cluster has, where this task is not in it or twice.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "thalweg/cluster/peers/worker_clients.h"
#include "thalweg/cluster/spec/cluster_spec.h"
#include "thalweg/session/environment.h"

namespace thalweg {

struct SessionCluster {
  // What it calls this task.
  struct Self {
    std::string job;
    int task = 0;
  };
  // The task that listens where this process does: at one of `addresses`, which are all its own.
  static Result<Self> FindSelf(const ClusterSpec& spec, const std::vector<std::string>& addresses);
  static Result<std::shared_ptr<SessionCluster>> Make(
      const std::shared_ptr<Environment>& environment, ClusterSpec spec, const Self& self,
      const TlsTexts& tls);

  // The task's, with its devices under their names in the cluster.
  const std::shared_ptr<Environment> environment;
  WorkerClients peers;
};

}  // namespace thalweg
