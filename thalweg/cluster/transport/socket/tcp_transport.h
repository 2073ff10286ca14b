// SPDX-License-Identifier: Apache-2.0
// The transport between hosts: who asks opens a TcpListener for as long as it asks, who is asked
// connects to it twice.
//
//   const std::unique_ptr<Transport> transport = MakeTcpTransport(context);
//
// Ownership: the context outlives it.
// Threads: as Transport.
// Errors: as Transport; NotFound for a hello without a TCP offer.
#pragma once

#include <memory>

#include "thalweg/cluster/transport/transport.h"
#include "thalweg/cluster/transport/transport_context.h"

namespace thalweg {

std::unique_ptr<Transport> MakeTcpTransport(TransportContext& context);

}  // namespace thalweg
