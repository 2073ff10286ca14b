// SPDX-License-Identifier: Apache-2.0
// The transport over UCX, between tasks that are both told to use it. Its words in a hello: the
// secret, and behind it the address of who offers.
//
//   const std::unique_ptr<Transport> transport = MakeUcxTransport(context);
//
// Ownership: the context outlives it.
// Threads: as Transport.
// Errors: as Transport; in a build without UCX all is Unimplemented.
#pragma once

#include <memory>

#include "thalweg/cluster/transport/transport.h"
#include "thalweg/cluster/transport/transport_context.h"

namespace thalweg {

inline constexpr uint32_t kUcxHelloField = 77'302;

std::unique_ptr<Transport> MakeUcxTransport(TransportContext& context);

}  // namespace thalweg
