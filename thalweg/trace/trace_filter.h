// SPDX-License-Identifier: Apache-2.0
// FilterTrace: leaves of a trace what is asked for: tasks, nodes, what takes long or is large, a
// window of time.
//
//   TraceFilter filter;
//   filter.tasks = {"worker/0"};
//   filter.nodes = {"*/MatMul*"};
//   RETURN_IF_ERROR(FilterTrace(filter, &trace));
//
// A span stays where each part of the filter lets it; steps then are what is left of them, those
// without any are gone, and `notes` tells how much was taken away. What nodes hold of memory is
// that of all nodes of the tasks that stay: a filter of nodes or of time changes nothing in who
// held what.
// Ownership: none.
// Threads: one for a trace.
// Errors: InvalidArgument where nothing is left, with what there is, or the filter can let nothing
// through.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "thalweg/base/status.h"
#include "thalweg/trace/trace.h"

namespace thalweg {

struct TraceFilter {
  // Patterns with '*' and '?': of tasks in full or as "worker/0" or "worker"; any of them.
  std::vector<std::string> tasks;
  // Of names of nodes, or of the keys of values that were received; any of them.
  std::vector<std::string> nodes;
  int64_t min_nanos = 0;           // what takes at least as long
  int64_t min_bytes = 0;           // what puts out, or transfers, at least as many
  int64_t from_nanos = INT64_MIN;  // since the trace's begin: what ends after it ...
  int64_t to_nanos = INT64_MAX;    // ... and starts before this
  bool empty() const {
    return tasks.empty() && nodes.empty() && min_nanos <= 0 && min_bytes <= 0 &&
           from_nanos == INT64_MIN && to_nanos == INT64_MAX;
  }
};

Status FilterTrace(const TraceFilter& filter, Trace* trace);

}  // namespace thalweg
