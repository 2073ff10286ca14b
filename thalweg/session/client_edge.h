// SPDX-License-Identifier: Apache-2.0
// ClientEdge: the edge over which a feed comes to a device, or a fetch leaves it, where a part of
// a step takes values from who runs it: a _Recv of the feed and a _Send of the fetch, both from
// that device to itself.
//
//   const RendezvousKey key = ClientEdge(device.full_name(), device.incarnation(), "feed", 0);
//
// Ownership: a value.
// Threads: any; no state.
// Errors: none.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "thalweg/kernel/rendezvous.h"

namespace thalweg {

// `kind`: "feed" or "fetch"; `number`: its place among those of the call.
inline RendezvousKey ClientEdge(const std::string& device, uint64_t incarnation,
                                std::string_view kind, int number) {
  return {.source = device,
          .incarnation = incarnation,
          .destination = device,
          .edge = StrCat(kind, "_", number),
          .tag = 0};
}

}  // namespace thalweg
