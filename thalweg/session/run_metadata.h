// SPDX-License-Identifier: Apache-2.0
// RunMetadata: what a Run can tell about itself beside its results; filled as far as RunOptions ask
// for it.
// Ownership: owns its texts, shares the graphs.
// Threads: one fills it; then reading from any.
// Errors: none.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "thalweg/graph/graph.h"
#include "thalweg/session/trace_bytes.h"

namespace thalweg {

// One execution of a node.
struct NodeStats {
  std::string node;
  int thread = 0;           // 0 is the thread that called Run
  int64_t start_nanos = 0;  // since StepStats::start_nanos
  int64_t end_nanos = 0;
  std::string label;  // for a timeline
};

struct DeviceStats {
  std::string device;  // full name
  std::vector<NodeStats> nodes;
};

// What a device of this task did, as it is written: nobody reads most traces.
struct DeviceTrace {
  std::string device;  // full name
  TraceBytes nodes;    // NodeExecStats messages, as they stand in a DeviceStepStats
};

struct StepStats {
  int64_t step_id = 0;
  int64_t start_wall_micros = 0;  // since 1970
  int64_t start_nanos = 0;        // the same moment on the environment's clock
  int64_t end_nanos = 0;
  std::vector<DeviceTrace> traces;
  // StepStats messages of other tasks, one behind the other, as they came.
  std::string encoded;
  std::vector<std::string> silent;  // tasks that told nothing
  // All of it, for whoever looks: filled by ReadStepStats (run_metadata_message.h).
  std::vector<DeviceStats> devices;
};

// What the compiled step holds at once, for feeds of these shapes: known before it runs. See
// executor/memory_plan.h for what counts.
struct StepMemory {
  int64_t peak_bytes = 0;
  std::string peak_node;       // the peak is reached when it runs
  int64_t unknown_values = 0;  // whose size the shapes do not tell; they count as empty
};

struct RunMetadata {
  struct Partition {
    std::string device;  // full name
    std::shared_ptr<const Graph> graph;
  };
  StepStats step_stats;
  // After all passes, with Send and Recv nodes.
  std::vector<Partition> partition_graphs;
  StepMemory memory;
  // A RunMetadata message, where a server has sent one: then nothing is filled beside it, but by
  // ReadStepStats.
  std::string encoded;
};

}  // namespace thalweg
