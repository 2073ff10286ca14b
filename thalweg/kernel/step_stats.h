// SPDX-License-Identifier: Apache-2.0
// StepStats: what ran when in one traced step, as the executor records it: one compact record a
// node, names looked up afterwards. Written by one thread per list, read when the step has ended.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "thalweg/graph/graph.h"

namespace thalweg {

// One execution of a node.
struct NodeRecord {
  const Node* node = nullptr;  // of the graph kept beside it
  uint64_t tag = 0;            // frame and iteration
  int64_t start_nanos = 0;     // of Clock::Now
  int64_t end_nanos = 0;
  int thread = -1;  // index in the queue; -1 is the thread that called Run
};

// What one device did.
struct DeviceStats {
  std::string device;                  // full name
  std::shared_ptr<const Graph> graph;  // the device's part of the step; keeps the nodes alive
  std::vector<NodeRecord> nodes;
};

struct StepStats {
  int64_t step_id = 0;
  int64_t start_wall_micros = 0;  // since 1970
  int64_t start_nanos = 0;        // the same moment on the clock of the records
  int64_t end_nanos = 0;
  std::vector<DeviceStats> devices;
};

}  // namespace thalweg
