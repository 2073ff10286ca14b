// SPDX-License-Identifier: Apache-2.0
// PartitionByDevice: cuts a placed step into one graph a device. An edge between devices becomes a
// _Send in the one and a _Recv in the other: one pair for each tensor and destination, whatever the
// number of consumers. A control edge crosses as a scalar whose deadness is what matters. Constants
// and feeds are copied to where they are read. In a loop that spans devices, every device that
// receives in it gets a control loop (Enter, Merge, Switch, NextIteration) that runs at the beat of
// the loop's condition and starts its receives once an iteration; nested loops stack them.
//
// With bfloat16_transfers a float32 value is cast before a _Send to another task, once for all its
// destinations, and back behind each _Recv: NAME/to_bfloat16 and NAME/from_bfloat16 in plans and
// traces. Control edges and other types stay as they are.
//
//   ASSIGN_OR_RETURN(auto parts, PartitionByDevice(step, device_of_node, devices));
//
// Ownership: each part owns its graph, whose origins point at the user's.
// Threads: as pass.h: one.
// Errors: InvalidArgument for a loop over devices without a LoopCond, Internal for a back edge
// between devices; those of the step's budget.
#pragma once

#include <vector>

#include "thalweg/kernel/device.h"
#include "thalweg/passes/pass.h"

namespace thalweg {

struct StepPartition {
  int device = 0;  // in the list of devices
  // feeds[i] is null where this part does not read feed i.
  StepGraph step;
  std::vector<int> fetches;  // step.fetches[k] is fetch number fetches[k] of the whole step
};

struct PartitionOptions {
  bool bfloat16_transfers = false;
};

// Only devices that have nodes appear, by number.
Result<std::vector<StepPartition>> PartitionByDevice(const StepGraph& step,
                                                     const std::vector<int>& device_of_node,
                                                     const std::vector<Device*>& devices,
                                                     const PartitionOptions& options = {});

}  // namespace thalweg
