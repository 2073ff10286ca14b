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

#include "thalweg/trace/trace.h"

namespace thalweg {

// Of sorted spans; replaces Trace::transfers.
void PairTransfers(Trace* trace);

}  // namespace thalweg
