// SPDX-License-Identifier: Apache-2.0
// TraceComparison: two traces of the same work, before and after a change: what takes longer now,
// step by step and node by node.
//
//   const TraceComparison comparison = Compare(trace, other);
//   Use(comparison.sentence, ComparisonJson(trace, other, comparison));
//
// A node is matched by device, name, operation and kind; one that is elsewhere now by the rest, if
// nothing else could be meant; a transfer by its key without the number. Executions of a step are
// summed; of several steps the median counts, and a difference that is no larger than the middle
// half of the steps is wide (on the side where it is wider) is noise.
// Ownership: owns all of its texts.
// Threads: any.
// Errors: none; both traces have at least one step.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "thalweg/trace/critical_path.h"
#include "thalweg/trace/stalls.h"
#include "thalweg/trace/trace.h"

namespace thalweg {

// A number of each step: the median, and between what the middle half lies.
struct StepMiddle {
  int64_t median = 0, low = 0, high = 0;
};
StepMiddle MiddleOf(std::vector<int64_t> values);

enum class ChangeSize : uint8_t {
  kNone,     // the same
  kUnknown,  // one step a side: nothing tells noise from a change
  kNoise,    // within the spread of the steps
  kReal,
};

struct TimeChange {
  StepMiddle before, after;  // nanoseconds
  ChangeSize size = ChangeSize::kNone;
  int64_t difference() const { return after.median - before.median; }
};

struct NodeChange {
  std::string node, op, device;
  std::string device_before;  // of a node that is elsewhere now; else ""
  SpanKind kind = SpanKind::kNode;
  TimeChange time, path;  // all executions of a step; what of it is on the critical path
  int64_t calls_before = 0, calls_after = 0;
};

struct StallChange {
  StallKind kind = StallKind::kCommunication;
  TimeChange lost;
  size_t steps_before = 0, steps_after = 0;  // that have it
  std::string sentence, remedy;              // of the worst, after where there is one
};

struct TraceComparison {
  std::string sentence;                             // what changed
  TimeChange time;                                  // of a step
  std::array<TimeChange, 5> where;                  // of the critical path, by PathKind
  std::vector<StallChange> stalls;                  // largest difference first
  std::vector<NodeChange> nodes;                    // of both, what takes longer first
  std::vector<NodeChange> only_before, only_after;  // longest first
};

TraceComparison Compare(const Trace& before, const Trace& after);
std::string ComparisonJson(const Trace& before, const Trace& after,
                           const TraceComparison& comparison);

}  // namespace thalweg
