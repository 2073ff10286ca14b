// SPDX-License-Identifier: Apache-2.0
// FindStalls: why a step is slow: what waited for what, worst first, each with a sentence and a
// remedy.
//
//   const std::vector<PathPart> path = CriticalPath(trace, 0);
//   for (const Stall& stall : FindStalls(trace, 0, path)) Use(stall.sentence, stall.remedy);
//
// What costs less than a fiftieth of the step, or 20 us, is none.
// Ownership: stalls own their texts and name spans of the trace.
// Threads: any.
// Errors: none.
#pragma once

#include <string>
#include <vector>

#include "thalweg/trace/busy_time.h"
#include "thalweg/trace/critical_path.h"
#include "thalweg/trace/trace.h"

namespace thalweg {

enum class StallKind : uint8_t {
  kCommunication,  // a Recv waits for a value that was sent, and nothing else runs
  kStraggler,      // one task of a job has much more to do, or is slower
  kQueueing,       // nodes that are ready wait for a thread
  kInput,          // nothing runs but who takes from a queue or an iterator
  kLockStep,       // who fills a queue and who empties it wait in turn
  kForeignLoad,    // nodes of the critical path had no processor: other threads ran
  kParallelism,    // one node at a time, where there are more lanes
};
const char* StallKindName(StallKind kind);

struct Stall {
  StallKind kind = StallKind::kCommunication;
  uint32_t step = 0;
  int64_t lost = 0;  // nanoseconds; of kParallelism, what could be saved at most
  int64_t begin = 0, end = 0;
  uint32_t device = 0;
  int64_t span = -1;      // where it shows best
  int64_t transfer = -1;  // of kCommunication
  std::string sentence, remedy;
};

std::vector<Stall> FindStalls(const Trace& trace, uint32_t step, const std::vector<PathPart>& path);

// Whether a span means that its device computes.
bool IsBusy(const Trace& trace, const TraceSpan& span);
// When the devices were busy in a step, by device.
std::vector<BusyTime> BusyTimes(const Trace& trace, const TraceStep& step);

}  // namespace thalweg
