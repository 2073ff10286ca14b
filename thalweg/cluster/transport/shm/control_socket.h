// SPDX-License-Identifier: Apache-2.0
// ControlSocket: the unix socket beside a pair of rings. It carries descriptors of shared memory
// and wake-ups, and its end is how the other side's death is seen.
//
//   RETURN_IF_ERROR(socket.Send({.kind = ControlKind::kPiece, .bytes = 4096}, memory.fd()));
//   ASSIGN_OR_RETURN(const bool some, socket.Receive(&message, &fd));        // false: nothing now
//
// Ownership: owns its socket; a descriptor that is sent stays the sender's, one that comes is the
// receiver's.
// Threads: Send from any; Receive from one at a time. Neither waits.
// Errors: OutOfRange at the end of the stream, Unavailable where it broke, DataLoss for a part of a
// message; ResourceExhausted where the other side has not read for long.
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
