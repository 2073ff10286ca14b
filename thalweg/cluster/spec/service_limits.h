// SPDX-License-Identifier: Apache-2.0
// ServiceLimits: what a task takes from clients and other tasks before it says no.
//
//   RETURN_IF_ERROR(limits.CheckNodes(graph_def, graph.num_nodes()));
//
// Ownership: a value.
// Threads: any.
// Errors: ResourceExhausted, with the limit and the option of `thalweg serve` that sets it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "thalweg/base/status.h"
#include "thalweg/proto/message.h"

namespace thalweg {

struct ServiceLimits {
  int64_t max_sessions = 10'000;
  int64_t max_nodes = 10'000'000;  // of a graph, with those of its functions

  // Whether one more fits beside `open`.
  Status CheckSessions(size_t open) const;
  // Whether a graph of `present` nodes may grow by those of `graph_def`.
  Status CheckNodes(const Message& graph_def, int64_t present) const;
};

}  // namespace thalweg
