// SPDX-License-Identifier: Apache-2.0
// Values and signals: where every value lies, and who is told when it is there.
//
// A value that is read only in the unit that makes it lies in a register, any other in a slot of
// the iteration, one slot however many read it. A *reader* is a unit, or the section of a Merge or
// Exit, or the end of the step (a fetch); with several the slot has a count of them. The last node
// of a unit that makes something for another unit carries the signal for it.
// Ownership: values; what they are made from is read during the call.
// Threads: any, while nobody changes the program.
// Errors: none.
#pragma once

#include <array>
#include <vector>

#include "thalweg/executor/units.h"

namespace thalweg {

struct ValueInfo {
  bool in_register = false;
  uint32_t slot = kNone;
  uint32_t readers = 0;
  bool fetched = false;
};

// A value is sent on right where it is made.
struct Emission {
  int output;
  Opcode opcode;  // kSendMerge, kSendNext or kSendExit
  std::vector<uint32_t> words;
};

struct Target {
  int unit;
  bool lenient;  // alive whatever the sender is
  auto operator<=>(const Target&) const = default;
};

struct Values {
  std::vector<int> first;  // by node: the number of its output 0
  std::vector<ValueInfo> info;
  std::vector<uint32_t> num_slots;                               // by frame
  std::vector<std::vector<Emission>> emissions;                  // by node
  std::vector<std::vector<Target>> targets;                      // by node: behind it
  std::vector<std::array<std::vector<Target>, 2>> side_targets;  // by Switch
  std::vector<int> switch_number;                                // by node: place in side_targets
  std::vector<std::vector<uint32_t>> pending;                    // by frame and unit
  std::vector<std::vector<std::vector<uint32_t>>> invariant_units;

  const ValueInfo& Of(int node, int output) const { return info[first[node] + output]; }
};

// What an Exit of a structured loop or a Merge that ends a branch instruction stands for: an output
// of the loop's or conditional's node.
LoweredValue Resolve(const Lowered& lowered, const Units& units, LoweredValue value);

Values PlaceValues(const Lowered& lowered, const Units& units);

}  // namespace thalweg
