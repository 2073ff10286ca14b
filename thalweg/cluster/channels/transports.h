// SPDX-License-Identifier: Apache-2.0
// ChannelUse: which channels a task makes; MakeTransports: the transports that it makes them by.
//
//   ASSIGN_OR_RETURN(const ChannelUse use, ParseChannelUse("tcp"));
//   for (auto& transport : MakeTransports(use, context)) Offer(*transport);    // the nearest first
//
// Ownership: the context outlives the transports.
// Threads: any.
// Errors: InvalidArgument for an unknown name; Unimplemented for one that this build lacks.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "thalweg/base/status.h"
#include "thalweg/cluster/transport/transport.h"
#include "thalweg/cluster/transport/transport_context.h"

namespace thalweg {

struct ChannelUse {
  std::string_view name;  // as --channels has it; of a string that lives for ever
  friend bool operator==(const ChannelUse&, const ChannelUse&) = default;

  static const ChannelUse kNone;     // tasks speak to each other in TensorFlow's way only
  static const ChannelUse kAny;      // the first that can be had
  static const ChannelUse kMemory;   // through shared memory, also within a process
  static const ChannelUse kSockets;  // over unix sockets, also within a process
  static const ChannelUse kTcp;      // over TCP, also within a host
  static const ChannelUse kUcx;      // over UCX, also within a host, to tasks that use it too
};
inline constexpr ChannelUse ChannelUse::kNone{"calls"};
inline constexpr ChannelUse ChannelUse::kAny{"any"};
inline constexpr ChannelUse ChannelUse::kMemory{"memory"};
inline constexpr ChannelUse ChannelUse::kSockets{"sockets"};
inline constexpr ChannelUse ChannelUse::kTcp{"tcp"};
inline constexpr ChannelUse ChannelUse::kUcx{"ucx"};

// InvalidArgument for a name that there is not; Unimplemented for one that this build lacks.
Result<ChannelUse> ParseChannelUse(std::string_view name);

// None for kNone. The context outlives them.
std::vector<std::unique_ptr<Transport>> MakeTransports(ChannelUse use, TransportContext& context);

}  // namespace thalweg
