// SPDX-License-Identifier: Apache-2.0
// Ports for servers of tests that must know each other's before any of them is there.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <vector>

#include "thalweg/base/str_cat.h"
#include "thalweg/cluster/transport/grpc/rpc.h"

namespace thalweg {

// Free now, and below those that the system gives to outgoing connections (32768 on Linux), which
// would otherwise take one between this call and the server's start.
inline std::vector<int> FreePorts(size_t count) {
  std::random_device random;
  std::vector<std::unique_ptr<RpcServer>> held;
  std::vector<int> ports;
  for (int attempt = 0; attempt < 1000 && ports.size() < count; ++attempt) {
    const int port = 10'000 + static_cast<int>(random() % 22'000);
    Result<std::unique_ptr<RpcServer>> server =
        RpcServer::Start({.address = StrCat("127.0.0.1:", port)}, [](auto) {});
    if (!server.ok()) continue;
    ports.push_back(port);
    held.push_back(*std::move(server));
  }
  EXPECT_EQ(ports.size(), count) << "no free ports";
  ports.resize(count);
  return ports;
}

}  // namespace thalweg
