// SPDX-License-Identifier: Apache-2.0
// SpanIndex: finds spans of a step by node, or by when they end.
//
//   const SpanIndex index(trace, 0);
//   Use(index.LastOf(device, name, 5000), index.LastOnTask(0, 5000));  // -1: there is none
//
// Ownership: the trace outlives it.
// Threads: any, once made.
// Errors: none.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "thalweg/trace/trace.h"

namespace thalweg {

// A cause of a node: what had to end before it could start.
struct SpanCause {
  int64_t span = -1;
  int64_t transfer = -1;  // where the value came by one whose Recv left no span
  int64_t end = INT64_MIN;
  bool found() const { return end != INT64_MIN; }
};

class SpanIndex {
 public:
  SpanIndex(const Trace& trace, uint32_t step);
  // The last execution of a node that ended by then.
  int64_t LastOf(uint32_t device, uint32_t name, int64_t by) const;
  // The last node or Recv of a task that ended by then.
  int64_t LastOnTask(uint32_t task, int64_t by) const;
  // By the graph: the input of a node that came last. Inputs that left no span stand for theirs.
  SpanCause CauseOf(int64_t span) const;
  // Whether the graph, or the label, tells what the node reads.
  bool KnowsInputsOf(int64_t span) const;
  // The transfer that a Recv's span ended with, or -1.
  int64_t TransferOf(int64_t span) const;

 private:
  struct Ending {
    uint64_t key;
    int64_t end;
    int64_t span;
  };
  struct TaskEnding {
    int64_t end;
    uint32_t task, span;
  };
  void Consider(uint32_t device, uint32_t name, int64_t by, int depth, int* tries,
                SpanCause* cause) const;
  void ConsiderTransfers(const std::vector<int64_t>& transfers, int64_t by, SpanCause* cause) const;

  const Trace& trace_;
  std::vector<Ending> by_node_;  // sorted
  std::vector<TaskEnding> by_task_;
  std::unordered_map<int64_t, int64_t> transfer_of_span_;
  std::unordered_map<uint64_t, std::vector<int64_t>> by_edge_;      // of the receiving device
  std::unordered_map<uint64_t, std::vector<int64_t>> by_producer_;  // of the receiving device
};

}  // namespace thalweg
