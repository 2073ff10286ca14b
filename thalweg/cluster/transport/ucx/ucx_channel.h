// SPDX-License-Identifier: Apache-2.0
// A channel over UCX: records, with tensors up to 64 KB in them, are copied and pushed; pieces of
// larger ones stay at the sender till the receiver takes them into their place.
//
//   ASSIGN_OR_RETURN(auto channel, MakeUcxChannel(io, std::move(end)));  // ends: ucx_listener.h
//
// A thread that polls moves what comes and goes; the I/O thread does while somebody waits for a
// ring, or what was sent has not gone.
// Ownership: shares the thread, owns its end.
// Threads: as Channel.
// Errors: as Channel; DataLoss for records that are none.
#pragma once

#include <memory>

#include "thalweg/base/status.h"
#include "thalweg/cluster/transport/channel.h"
#include "thalweg/cluster/transport/io_thread.h"
#include "thalweg/cluster/transport/ucx/ucx_endpoint.h"

namespace thalweg {

Result<std::unique_ptr<Channel>> MakeUcxChannel(std::shared_ptr<IoThread> io,
                                                std::unique_ptr<UcxEndpoint> end);

}  // namespace thalweg
