// SPDX-License-Identifier: Apache-2.0
// StepContext: the services of one step on one device, as kernels see them. Made by the step
// engine, lives until the last kernel of the step has ended.
// Ownership: owns nothing: the step engine keeps what it points at until the last kernel of the
// step has ended.
// Threads: filled before the first kernel runs, then read by any.
// Errors: none.
#pragma once

#include <cstdint>

#include "thalweg/base/cancellation.h"
#include "thalweg/base/work_queue.h"
#include "thalweg/compute/work.h"
#include "thalweg/kernel/device.h"
#include "thalweg/kernel/rendezvous.h"
#include "thalweg/kernel/resource_manager.h"

namespace thalweg {

class CollectiveRemote;
class LocalCollectives;

struct StepContext {
  int64_t step_id = 0;
  Device* device = nullptr;
  Allocator* allocator = nullptr;
  // What the allocator gives the host can address: that of the device, or the host's.
  bool host_addressable = true;
  compute::Work* work = nullptr;
  WorkQueue* queue = nullptr;
  CancellationManager* cancellation = nullptr;
  Rendezvous* rendezvous = nullptr;         // between devices of this step
  Rendezvous* feeds_and_fetches = nullptr;  // of a partial run; null otherwise
  // In a step over several tasks: where members of other tasks are met, and which of its collective
  // operations need none. Null: all members are in this task; all others' are elsewhere too.
  CollectiveRemote* collectives = nullptr;
  const LocalCollectives* local_collectives = nullptr;
  // The session's environment owns these: variables, queues, tables.
  ResourceManager* resources = nullptr;
  // Ends with the step: TensorArrays, stacks, temporary variables.
  ResourceManager* step_resources = nullptr;
};

}  // namespace thalweg
