// SPDX-License-Identifier: Apache-2.0
// Sides of shared-memory channels, for tests: two tasks in one process, or a task and the test
// itself.
//
//   ShmTasks tasks;
//   ASSIGN_OR_RETURN(ChannelPair pair, tasks.Connect());
//   const Tensor t = FloatsIn(*tasks.a, 100'000);
//   pair.first->Push(HeadOf(t), t);
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <string>

#include "thalweg/cluster/transport/conformance/test_sockets.h"
#include "thalweg/cluster/transport/conformance/test_transport.h"
#include "thalweg/cluster/transport/record.h"
#include "thalweg/cluster/transport/shm/control_socket.h"
#include "thalweg/cluster/transport/shm/ring.h"
#include "thalweg/cluster/transport/shm/shm_channel.h"

namespace thalweg {

// Two tasks of a host, here in one process.
struct ShmTasks {
  explicit ShmTasks(int64_t limit = 0) : a(ShmArena::Make(limit)), b(ShmArena::Make(limit)) {}
  std::shared_ptr<IoThread> io = *IoThread::Start();
  std::shared_ptr<ShmArena> a;
  std::shared_ptr<ShmArena> b;
  Result<ChannelPair> Connect() {
    FdPair sockets = UnixSockets();
    ChannelPair pair;
    ASSIGN_OR_RETURN(pair.first, OpenShmChannel(io, a, std::move(sockets.first)));
    ASSIGN_OR_RETURN(pair.second, AcceptShmChannel(io, b, std::move(sockets.second)));
    return pair;
  }
};

inline TensorHead HeadOf(const Tensor& t) {
  return {.step = 1, .dtype = t.dtype(), .shape = t.shape()};
}

inline Tensor FloatsIn(Allocator& allocator, int64_t n) {
  Tensor t = *Tensor::Allocate(allocator, DType::kFloat, Shape{n});
  std::iota(t.mutable_data<float>(), t.mutable_data<float>() + n, 0.f);
  return t;
}

// The other side is the test itself, with the rings in its hands.
struct RawShmSide {
  explicit RawShmSide(int64_t limit = 0)
      : tasks(limit),
        socket(UniqueFd()),
        rings(*SharedMemory::Make(2 * Ring::kBytes, SharedUse::kBothWrite)) {
    FdPair sockets = UnixSockets();
    socket = ControlSocket(std::move(sockets.first));
    EXPECT_TRUE(
        socket.Send({.kind = ControlKind::kRings, .bytes = rings.bytes()}, rings.fd()).ok());
    channel = *AcceptShmChannel(tasks.io, tasks.b, std::move(sockets.second));
    out = std::make_unique<Ring>(rings.data());
  }
  bool UntilClosed() {
    return PollUntil(*channel, sink, [&] { return sink.closed.has_value(); });
  }
  std::string Shared(uint64_t piece, uint64_t offset, int64_t floats) {
    std::string bytes(kMaxHeadBytes, '\0');
    const TensorHead head{.dtype = DType::kFloat, .shape = Shape{floats}};
    bytes.resize(EncodeHead(RecordKind::kShared, head, 4 * static_cast<uint64_t>(floats),
                            {.piece = piece, .offset = offset, .loan = 1}, bytes.data()));
    return bytes;
  }
  ShmTasks tasks;
  ControlSocket socket;
  SharedMemory rings;
  std::unique_ptr<Ring> out;
  std::unique_ptr<Channel> channel;
  Collector sink;
};

}  // namespace thalweg
