// SPDX-License-Identifier: Apache-2.0
// TraceSummary: what a trace tells of one step, analyzed: where its time went, the critical path,
// stalls.
//
//   const TraceSummary summary = Summarize(trace, SlowestStep(trace));
//   Use(SummaryJson(trace, summary));
//
// Ownership: names spans of the trace, which must be there for the JSON.
// Threads: any.
// Errors: none.
#pragma once

#include <string>
#include <vector>

#include "thalweg/trace/critical_path.h"
#include "thalweg/trace/stalls.h"
#include "thalweg/trace/trace.h"

namespace thalweg {

// Of a device in the step.
struct DeviceUse {
  uint32_t device = 0;
  size_t nodes = 0;
  int64_t busy = 0;  // time in which at least one node ran
  int64_t work = 0;  // of all nodes together
  // Of that, without a processor: others ran in the thread's place, or it waited of itself.
  int64_t taken = 0, waited = 0;
  size_t times_taken = 0, times_waited = 0;
};

// How long a device stood still in Recv.
struct DeviceWait {
  uint32_t device = 0, for_device = 0;
  size_t values = 0;
  int64_t bytes = 0;
  int64_t unsent = 0;  // because the other had not sent yet
  int64_t on_way = 0;  // after it had
};

struct OpUse {
  uint32_t op = 0;
  size_t calls = 0;
  int64_t work = 0;
};

struct TraceSummary {
  uint32_t step = 0;
  std::vector<PathPart> path;
  std::vector<Stall> stalls;  // worst first; of this step
  std::vector<DeviceUse> devices;
  std::vector<DeviceWait> waits;  // longest first
  std::vector<OpUse> ops;         // longest first
};

uint32_t SlowestStep(const Trace& trace);
TraceSummary Summarize(const Trace& trace, uint32_t step);
std::string SummaryJson(const Trace& trace, const TraceSummary& summary);

}  // namespace thalweg
