// SPDX-License-Identifier: Apache-2.0
// CriticalPath: what bounded a step: from its end back, always to what came last.
//
//   const std::vector<PathPart> path = CriticalPath(trace, 0);
//   for (const PathPart& part : path) Use(part.end - part.begin);
//
// Parts are in order of time, touch each other and cover the whole step. Inputs are those of the
// partition graphs or labels; where neither tells, a node's input is the one of its task that ended
// last.
// Ownership: the parts name spans and transfers of the trace.
// Threads: any.
// Errors: none.
#pragma once

#include <cstdint>
#include <vector>

#include "thalweg/trace/trace.h"

namespace thalweg {

enum class PathKind : uint8_t {
  kNode,      // a node runs
  kInput,     // a node waits for a queue, an iterator
  kTransfer,  // a value is on its way
  kQueue,     // a node is ready and waits for a thread
  kStart,     // before the first node: the call, its way to the task
};
const char* PathKindName(PathKind kind);

struct PathPart {
  PathKind kind = PathKind::kNode;
  int64_t begin = 0, end = 0;
  int64_t span = -1;      // that runs, waits or receives
  int64_t transfer = -1;  // of kTransfer, where it is known
};

std::vector<PathPart> CriticalPath(const Trace& trace, uint32_t step);

}  // namespace thalweg
