// SPDX-License-Identifier: Apache-2.0
// What a node's device asks for, as passes may know it: they run before nodes are placed.
//
//   const bool may_fuse = MayBeOnCpu(*node);   // fused operations have kernels there alone
//
// Ownership: none; the node is read during the call.
// Threads: any, as for reading a Graph.
// Errors: none; a device name that cannot be parsed is not a CPU.
#pragma once

#include "thalweg/graph/graph.h"

namespace thalweg {

// Whether it asks for a CPU, or for no kind of device.
bool MayBeOnCpu(const Node& node);

}  // namespace thalweg
