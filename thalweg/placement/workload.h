// SPDX-License-Identifier: Apache-2.0
// Workload: what a step asks of devices: nodes with their times, the values that go between them,
// and groups of nodes that must be on one device.
//
//   Workload work;
//   work.groups = {{.may = {true, true}}, {.may = {true, true}}};
//   work.nodes.push_back({.group = 0, .seconds = {1, 2}, .values = {4e6}});
//   work.nodes.push_back({.group = 1, .seconds = {1, 2}, .reads = {{.node = 0, .value = 0}}});
//
// A node comes behind all that it reads, so a loop is counted once. Branches that are not taken
// count as if they were.
// Ownership: values.
// Threads: one changes it, then reading from any.
// Errors: InvalidArgument of Validate names the node or group by number.
#pragma once

#include <string>
#include <vector>

#include "thalweg/base/status.h"
#include "thalweg/placement/machine.h"

namespace thalweg {

struct Workload {
  // Where the values of a node are when it has run.
  enum class Home : uint8_t {
    kGroup,   // on its group's device
    kClient,  // on device 0, which has what is fed
    kAll,     // on every device: constants
  };
  struct Read {
    int node = 0;
    int value = 0;  // of the node; kOrder: nothing but that it has run
    friend bool operator==(const Read&, const Read&) = default;
  };
  static constexpr int kOrder = -1;

  struct Node {
    int group = 0;
    // Takes no time and no place in a pool: constants, variables, what is fed, and what only hands
    // those of its own group on. It is there before anything is decided.
    bool is_source = false;
    Home home = Home::kGroup;
    std::vector<double> seconds;  // by device; of a source: not looked at
    std::vector<double> values;   // bytes of each
    std::vector<Read> reads;
    double state = 0;      // bytes that are on its device before, during and after the step
    bool is_kept = false;  // its values are results of the step
  };
  struct Group {
    std::vector<bool> may;  // by device
  };

  std::vector<Node> nodes;
  std::vector<Group> groups;

  Status Validate(const Machine& machine) const;
};

}  // namespace thalweg
