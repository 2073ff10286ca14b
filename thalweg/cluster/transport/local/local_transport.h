// SPDX-License-Identifier: Apache-2.0
// The transport within a host: who is asked comes to an abstract unix socket named by the hello's
// token: once where the channel is to go through shared memory, twice where both connections are
// the channel themselves.
//
//   const std::unique_ptr<Transport> transport = MakeLocalTransport(context);
//
// Ownership: the context outlives it.
// Threads: as Transport.
// Errors: as Transport.
#pragma once

#include <memory>

#include "thalweg/cluster/transport/transport.h"
#include "thalweg/cluster/transport/transport_context.h"

namespace thalweg {

// Shared memory, and sockets where it cannot be had.
std::unique_ptr<Transport> MakeLocalTransport(TransportContext& context);
// One of them alone.
std::unique_ptr<Transport> MakeMemoryTransport(TransportContext& context);
std::unique_ptr<Transport> MakeSocketTransport(TransportContext& context);

}  // namespace thalweg
