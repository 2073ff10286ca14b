// SPDX-License-Identifier: Apache-2.0
// PlaceCopies: puts copies where a value of a part is in another memory than its reader wants it:
// between a device whose memory the host cannot address and the host's, of which feeds, fetches,
// Send and Recv are.
//
//   ASSIGN_OR_RETURN(StepGraph part, PlaceCopies(part, device, kernels));
//
// Where both ends of an edge between devices are among the peer edges (peer_edges.h), the _Send
// hands over what is in the device's memory, and a _CopyFromPeer stands behind the _Recv.
// A value is copied once each way, by a _CopyToHost or _CopyFromHost behind the node that makes it
// ("NAME/to_host", "NAME/to_device"), whatever the number of readers. A constant is copied when the
// step is compiled, and is a second Const: nothing is copied when the step runs.
// Ownership: as pass.h; the device outlives the graph, whose constants may lie in its memory.
// Threads: as pass.h: one; it waits for the copies of constants, a minute for each at most.
// Errors: those of NodeMemory::Of, of the device's copies, and of the step's budget.
#pragma once

#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/passes/pass.h"
#include "thalweg/passes/peer_edges.h"

namespace thalweg {

// All nodes of the part are the device's. The same step where the host addresses its memory.
Result<StepGraph> PlaceCopies(const StepGraph& part, Device& device, const KernelRegistry& kernels,
                              const PeerEdges& peers = {});

}  // namespace thalweg
