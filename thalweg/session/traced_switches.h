// SPDX-License-Identifier: Apache-2.0
// TracedSwitches: when the nodes of a traced step had no processor, as fields of their
// NodeExecStats (proto/trace_fields.h).
//
//   const TracedSwitches switches(trace.TakeSwitches());
//   switches.AppendFields(record, &fields);
//   switches.AppendMissing(stats.traces.front().nodes.Tail());
//
// What is shorter than kLeastWait is left out where the thread waited of itself: locks and
// handed-on work look like that. Where it waited while a thread that helped in its loop had no
// processor, it counts as having had none itself: that is what it waited for.
// Ownership: owns what it was given.
// Threads: one.
// Errors: none.
#pragma once

#include <cstdint>
#include <string>

#include "thalweg/executor/step_trace.h"

namespace thalweg {

class TracedSwitches {
 public:
  static constexpr int64_t kLeastWait = 10'000;  // nanoseconds

  explicit TracedSwitches(SwitchRecords records) : records_(std::move(records)) {}
  // Nothing where the node always had a processor, or needed none: an asynchronous kernel waits
  // while its thread runs other nodes, whose switches these are.
  void AppendFields(const NodeRecord& record, std::string* fields) const;
  // To the fields of a DeviceStepStats: why nothing is known; nothing where it is.
  void AppendMissing(std::string* fields) const;

 private:
  const SwitchRecords records_;
};

}  // namespace thalweg
