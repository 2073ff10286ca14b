// SPDX-License-Identifier: Apache-2.0
// A channel through memory that two processes of a host share: a ring of records each way, tensors
// above 64 KB in their producer's arena.
//
//   ASSIGN_OR_RETURN(auto ours, OpenShmChannel(io, arena, std::move(socket)));     // the initiator
//   ASSIGN_OR_RETURN(auto theirs, AcceptShmChannel(io, their_arena, std::move(their_socket)));
//
// The socket is a connected unix stream, for descriptors, wake-ups and death. Large floating-point
// tensors are read in place: the consumer's Tensor lies in the producer's memory, and dropping it
// tells the producer. All others are copied before use, since a peer might change them meanwhile.
// Ownership: shares the thread and the arena. What a living peer may still read stays as it is
// after the channel has closed.
// Threads: as Channel; Accept waits for the initiator, a second at most.
// Errors: as Channel; ResourceExhausted where there is no memory for the rings.
#pragma once

#include <memory>

#include "thalweg/base/status.h"
#include "thalweg/cluster/transport/channel.h"
#include "thalweg/cluster/transport/io_thread.h"
#include "thalweg/cluster/transport/shm/arena.h"
#include "thalweg/cluster/transport/unique_fd.h"

namespace thalweg {

Result<std::unique_ptr<Channel>> OpenShmChannel(std::shared_ptr<IoThread> io,
                                                std::shared_ptr<ShmArena> arena, UniqueFd socket);
// Waits for the initiator, a second at most.
Result<std::unique_ptr<Channel>> AcceptShmChannel(std::shared_ptr<IoThread> io,
                                                  std::shared_ptr<ShmArena> arena, UniqueFd socket);

}  // namespace thalweg
