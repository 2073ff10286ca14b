// SPDX-License-Identifier: Apache-2.0
// RunMetadata: what a Run can tell about itself beside its results; filled as far as RunOptions ask
// for it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "thalweg/graph/graph.h"
#include "thalweg/kernel/step_stats.h"

namespace thalweg {

struct RunMetadata {
  struct Partition {
    std::string device;  // full name
    std::shared_ptr<const Graph> graph;
  };
  StepStats step_stats;
  // After all passes, with Send and Recv nodes.
  std::vector<Partition> partition_graphs;
};

}  // namespace thalweg
