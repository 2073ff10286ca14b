// SPDX-License-Identifier: Apache-2.0
// StepSnapshot: what a task has of one of its open steps, and what it waits for: for people (the
// dump), for heartbeats and for the error of a step that is stuck.
//
//   for (const StepSnapshot& step : DescribeSteps(table, service, clock.Now())) Add(step);
//
// Ownership: a copy of names and numbers; `way` is a literal.
// Threads: any. Takes short locks only, so that it tells of steps that are stuck, too.
// Errors: none; a step that ends meanwhile is told or not.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "thalweg/base/clock.h"

namespace thalweg {

class RpcStepTable;
class StepService;

struct StepSnapshot {
  int64_t id = 0;
  std::string_view way = {};  // how its values go between tasks: "calls" or "channels"
  std::string session = {};   // its handle, as masters write it; empty: not known here
  bool begun = false;  // a part runs here; else only values of it have come or were asked for
  std::chrono::nanoseconds age{0};
  std::vector<std::string> asked = {};   // "WHAT of TASK": what other tasks owe it
  size_t num_asked = 0;                  // of them, where not all are told
  std::vector<std::string> values = {};  // what lies here, or is awaited within the task
  uint64_t events = 0;                   // rises when a value moves
};

// All open steps of a task.
std::vector<StepSnapshot> DescribeSteps(RpcStepTable& by_calls, StepService& through_channels,
                                        Clock::TimePoint now);

}  // namespace thalweg
