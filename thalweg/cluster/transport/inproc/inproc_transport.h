// SPDX-License-Identifier: Apache-2.0
// The transport within a process: a pair of channels, one of which waits among the process's
// InprocListeners for the task that is asked.
//
//   const std::unique_ptr<Transport> transport = MakeInprocTransport(context);
//
// Ownership: the context outlives it.
// Threads: as Transport.
// Errors: as Transport; NotFound for a task of another process or a token that nobody waits under,
// Unimplemented in a process that keeps no channels.
#pragma once

#include <memory>

#include "thalweg/cluster/transport/transport.h"
#include "thalweg/cluster/transport/transport_context.h"

namespace thalweg {

std::unique_ptr<Transport> MakeInprocTransport(TransportContext& context);

}  // namespace thalweg
