// SPDX-License-Identifier: Apache-2.0
// Door: the unix socket beside a pair of rings. It carries descriptors of shared memory and
// wake-ups, and its end is how the other side's death is seen.
//
//   door.Send({.kind = DoorKind::kPiece, .id = 3, .bytes = n}, memory.fd());
//   Result<bool> some = door.Receive(&message);       // false: nothing now; OutOfRange: the end
//
// Threads: Send from any; Receive from one at a time. Neither waits.
#pragma once

#include <cstdint>

#include "thalweg/base/status.h"
#include "thalweg/cluster/transport/unique_fd.h"

namespace thalweg {

enum class DoorKind : uint64_t { kRings = 1, kPiece = 2, kWake = 3, kBye = 4, kForget = 5 };

struct DoorMessage {
  DoorKind kind = DoorKind::kWake;
  uint64_t id = 0;
  uint64_t bytes = 0;
};

class Door {
 public:
  explicit Door(UniqueFd socket) : socket_(std::move(socket)) {}
  int fd() const { return socket_.get(); }
  // ResourceExhausted where the other side has not read for long.
  Status Send(const DoorMessage& message, int fd = -1) const;
  Result<bool> Receive(DoorMessage* message, UniqueFd* fd) const;

 private:
  UniqueFd socket_;
};

}  // namespace thalweg
