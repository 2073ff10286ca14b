// SPDX-License-Identifier: Apache-2.0
// A channel over two stream connections (TCP or unix): control carries records, with tensors up to
// 64 KB in them; bulk carries the bytes of larger ones, whose heads went over control, so that no
// control message waits behind megabytes.
//
//   ASSIGN_OR_RETURN(auto channel, MakeSocketChannel(io, std::move(control), std::move(bulk)));
//
// A thread that polls reads by itself; the I/O thread sends what a socket did not take, and rings.
// Ownership: shares the thread. Tensors wait for a slow reader as references, not as copies.
// Threads: as Channel.
// Errors: as Channel; ResourceExhausted where more than kMaxQueuedControl waits.
#pragma once

#include <memory>

#include "thalweg/base/status.h"
#include "thalweg/cluster/transport/channel.h"
#include "thalweg/cluster/transport/io_thread.h"
#include "thalweg/cluster/transport/unique_fd.h"

namespace thalweg {

// Control messages and small tensors that wait for the other side; beyond it the channel closes.
inline constexpr size_t kMaxQueuedControl = size_t{64} << 20;

Result<std::unique_ptr<Channel>> MakeSocketChannel(std::shared_ptr<IoThread> io, UniqueFd control,
                                                   UniqueFd bulk);

}  // namespace thalweg
