// SPDX-License-Identifier: Apache-2.0
// PairTransfers: which Send, or which node, a Recv waited for, by rendezvous keys.
//
//   PairTransfers(&trace);
//   for (const TraceTransfer& transfer : trace.transfers) Use(transfer.arrived - transfer.sent);
//
// Keys stand in the partition graphs; where there are none, in what tasks note of transfers. The
// k-th Send of a key goes to its k-th Recv.
// Ownership: none.
// Threads: one for a trace.
// Errors: none; a sender that is not found is -1.
#pragma once

#include <string_view>

#include "thalweg/trace/trace.h"

namespace thalweg {

// Of sorted spans; replaces Trace::transfers.
void PairTransfers(Trace* trace);
// "v_0" of the key's name "edge_4_v_0": numbers differ from graph to graph.
std::string_view EdgeWithoutNumber(std::string_view edge);

}  // namespace thalweg
