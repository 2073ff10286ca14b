// SPDX-License-Identifier: Apache-2.0
// LostProcessors: what of a critical path was spent without a processor, as other threads ran in
// the place of those that it is made of.
//
//   for (const LostProcessor& lost : LostProcessors(trace, 0, CriticalPath(trace, 0))) {
//     Use(trace.tasks[lost.task].name, lost.nanos);
//   }
//
// Ownership: what it gives names tasks and spans of the trace.
// Threads: any.
// Errors: none; nothing where the trace tells of no switches.
#pragma once

#include <cstdint>
#include <vector>

#include "thalweg/trace/critical_path.h"
#include "thalweg/trace/trace.h"

namespace thalweg {

struct LostProcessor {
  uint32_t task = 0;
  int64_t nanos = 0;  // in all
  size_t times = 0;
  int64_t begin = 0, end = 0;  // the longest of them
  int64_t span = -1;           // the node that ran then
};

// One for each task, in their order.
std::vector<LostProcessor> LostProcessors(const Trace& trace, uint32_t step,
                                          const std::vector<PathPart>& path);

}  // namespace thalweg
