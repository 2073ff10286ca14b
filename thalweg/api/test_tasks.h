// SPDX-License-Identifier: Apache-2.0
// Tasks of one cluster as servers of this process, on free ports of loopback.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "thalweg/api/registries.h"
#include "thalweg/api/test_ports.h"
#include "thalweg/cluster/server/server.h"

namespace thalweg {

using TestTasks = std::vector<std::pair<const char*, int>>;  // job and number of each

// `set` has the options of task i before it starts. Fewer servers than tasks: one did not start,
// and the test has failed.
inline std::vector<std::unique_ptr<Server>> StartTasks(
    const TestTasks& tasks, ClusterSpec* cluster,
    const std::function<void(size_t i, ServerOptions* options)>& set) {
  const std::vector<int> ports = FreePorts(tasks.size());
  *cluster = ClusterSpec();
  for (size_t i = 0; i < ports.size(); ++i) {
    EXPECT_TRUE(cluster->Add(tasks[i].first, tasks[i].second, StrCat("127.0.0.1:", ports[i])).ok());
  }
  std::vector<std::unique_ptr<Server>> servers;
  for (size_t i = 0; i < ports.size(); ++i) {
    ServerOptions options;
    options.cluster = *cluster;
    options.job = tasks[i].first;
    options.task = tasks[i].second;
    set(i, &options);
    Result<std::unique_ptr<Server>> server = Server::Start(options, MakeRegistries());
    EXPECT_TRUE(server.ok()) << server.status().ToString();
    if (!server.ok()) break;
    servers.push_back(*std::move(server));
  }
  return servers;
}

}  // namespace thalweg
