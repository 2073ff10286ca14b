// SPDX-License-Identifier: Apache-2.0
// Pairs of connected sockets, unix or TCP, for tests.
//
//   FdPair sockets = UnixSockets();
//   const auto [here, there] = TcpChannelSockets("127.0.0.1");
#pragma once

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include "thalweg/cluster/transport/tcp_sockets.h"
#include "thalweg/cluster/transport/unique_fd.h"

namespace thalweg {

using FdPair = std::pair<UniqueFd, UniqueFd>;

inline FdPair UnixSockets() {
  int fds[2];
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
  return {UniqueFd(fds[0]), UniqueFd(fds[1])};
}

// Both ends of the connections of a channel, made as tasks make them: who listens, who connects.
inline std::pair<TcpSockets, TcpSockets> TcpChannelSockets(const std::string& host = "127.0.0.1") {
  constexpr uint64_t kToken = 7;
  Result<TcpListener> listener = TcpListener::Open(host, kToken);
  EXPECT_TRUE(listener.ok()) << listener.status().ToString();
  const UniqueFd connected(eventfd(0, EFD_CLOEXEC));
  Result<TcpSockets> there = Internal("not connected");
  std::thread asked([&] {
    there = ConnectByTcp(listener->offer(), kToken, std::chrono::seconds(60));
    eventfd_write(connected.get(), 1);
  });
  listener->AttendUntil(connected);
  asked.join();
  EXPECT_TRUE(there.ok()) << there.status().ToString();
  Result<TcpSockets> here = listener->Take();
  EXPECT_TRUE(here.ok()) << here.status().ToString();
  return {*std::move(here), *std::move(there)};
}

}  // namespace thalweg
