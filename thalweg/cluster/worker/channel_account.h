// SPDX-License-Identifier: Apache-2.0
// ChannelStepAccount: what a task has of one step that goes through channels, and what it waits
// for.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace thalweg {

struct ChannelStepAccount {
  int64_t id = 0;
  uint64_t session = 0;  // the number of its handle; 0: not known here
  bool begun = false;    // else only values of it have come
  std::chrono::nanoseconds age{0};
  std::vector<std::string> asked = {};   // "WHAT of TASK": what other tasks owe it
  std::vector<std::string> values = {};  // what lies here, or is awaited within the task
  uint64_t events = 0;                   // rises when something moves
};

}  // namespace thalweg
