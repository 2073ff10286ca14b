// SPDX-License-Identifier: Apache-2.0
// FindPeerEdges: the edges between devices of this process whose value goes from the memory of the
// one to that of the other without the host's (kernel/peer_copies.h): it is in the sender's own
// memory, and somebody reads it in the receiver's.
//
//   ASSIGN_OR_RETURN(const PeerEdges peers, FindPeerEdges(parts, devices, kernels));
//   ASSIGN_OR_RETURN(part, PlaceCopies(part, device, kernels, peers));  // of both ends
//
// Ownership: values.
// Threads: as pass.h: one.
// Errors: those of NodeMemory::Of, and of the step's budget.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/passes/partition.h"

namespace thalweg {

// By EdgeName: the tensor_name that both ends have from then on. No graph can know it, and no key
// of another task can say it (none of its parts has a ';'): what lies in a device's memory is
// given to nobody else.
using PeerEdges = std::map<std::string, std::string>;

// What a _Send and its _Recv have in common, and no other pair of the step; "" for other nodes.
std::string EdgeName(const Node& node);

// `devices`: by StepPartition::device. None where no device takes tensors of another.
Result<PeerEdges> FindPeerEdges(const std::vector<StepPartition>& parts,
                                std::span<Device* const> devices, const KernelRegistry& kernels);

}  // namespace thalweg
