// SPDX-License-Identifier: Apache-2.0
// ControlSocket: the unix socket beside a pair of rings. It carries descriptors of shared memory
// and wake-ups, and its end is how the other side's death is seen.
//
//   socket.Send({.kind = ControlKind::kPiece, .id = 3, .bytes = n}, memory.fd());
//   Result<bool> some = socket.Receive(&message);       // false: nothing now; OutOfRange: the end
//
// Threads: Send from any; Receive from one at a time. Neither waits.
#pragma once

#include <cstdint>

#include "thalweg/base/status.h"
#include "thalweg/cluster/transport/unique_fd.h"

namespace thalweg {

enum class ControlKind : uint64_t { kRings = 1, kPiece = 2, kWake = 3, kClose = 4, kUnmap = 5 };

struct ControlSocketMessage {
  ControlKind kind = ControlKind::kWake;
  uint64_t id = 0;
  uint64_t bytes = 0;
};

class ControlSocket {
 public:
  explicit ControlSocket(UniqueFd socket) : socket_(std::move(socket)) {}
  int fd() const { return socket_.get(); }
  // ResourceExhausted where the other side has not read for long.
  Status Send(const ControlSocketMessage& message, int fd = -1) const;
  Result<bool> Receive(ControlSocketMessage* message, UniqueFd* fd) const;

 private:
  UniqueFd socket_;
};

}  // namespace thalweg
