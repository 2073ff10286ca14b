// SPDX-License-Identifier: Apache-2.0
// WorkloadTest: a machine and a workload to build by hand, each node a group of its own unless it
// says otherwise, for tests of placement.
//
//   const int a = Add({.seconds = {1, 2}, .values = {8}});
//   const int b = Add({.seconds = {1, 2}, .reads = {{a, 0}}});
//   EXPECT_EQ(Run({0, 1}).makespan, 4);
//
// Ownership: the fixture owns all.
// Threads: one.
// Errors: fail the test.
#pragma once

#include <gtest/gtest.h>

#include <random>
#include <utility>
#include <vector>

#include "thalweg/placement/search_placer.h"
#include "thalweg/placement/simulator.h"

namespace thalweg {

// Devices A, B, C ... with pools of their own.
inline Machine MachineOf(int num_devices) {
  std::vector<DeviceModel> devices;
  for (int d = 0; d < num_devices; ++d) {
    devices.push_back({.name = std::string(1, static_cast<char>('A' + d)), .pool = d});
  }
  return Machine(devices);
}

class WorkloadTest : public ::testing::Test {
 protected:
  // Returns the node's number, which is that of its group, too, where it has its own.
  int Add(Workload::Node node, std::vector<bool> may = {}) {
    if (may.empty()) may.assign(static_cast<size_t>(machine.num_devices()), true);
    node.group = static_cast<int>(work.groups.size());
    work.groups.push_back({.may = std::move(may)});
    work.nodes.push_back(std::move(node));
    return static_cast<int>(work.nodes.size()) - 1;
  }
  int AddTo(int group, Workload::Node node) {
    node.group = group;
    work.nodes.push_back(std::move(node));
    return static_cast<int>(work.nodes.size()) - 1;
  }
  void Check() { ASSERT_TRUE(work.Validate(machine).ok()) << work.Validate(machine).message(); }
  Simulation Run(const std::vector<int>& device) {
    Check();
    return Simulator(machine, work).Run(device);
  }
  std::vector<int> Greedy() {
    Check();
    return Simulator(machine, work).PlaceGreedily();
  }
  // A graph of `num_nodes` nodes over all devices: heavy and light ones, constants, variables with
  // their updates, constraints.
  void AddRandom(int num_nodes, uint64_t seed) {
    std::mt19937_64 random(seed);
    const auto below = [&](uint64_t bound) { return random() % bound; };
    const int num_devices = machine.num_devices();
    for (int n = 0; n < num_nodes; ++n) {
      Workload::Node node;
      const uint64_t kind = below(10);
      if (kind == 0) {
        node = {.is_source = true, .values = {static_cast<double>(below(50))}, .state = 10};
        if (below(2) == 0) node.home = Workload::Home::kAll;
      } else {
        for (int d = 0; d < num_devices; ++d) {
          node.seconds.push_back(static_cast<double>(1 + below(20)));
        }
        node.values = {static_cast<double>(below(30)), 1};
        for (uint64_t reads = below(4); n > 0 && reads > 0; --reads) {
          const int from = static_cast<int>(below(static_cast<uint64_t>(n)));
          const int made = static_cast<int>(work.nodes[from].values.size());
          node.reads.push_back({from, static_cast<int>(below(made + 1)) - 1});
        }
      }
      std::vector<bool> may(static_cast<size_t>(num_devices), true);
      if (below(5) == 0) may[below(static_cast<uint64_t>(num_devices))] = num_devices == 1;
      const bool joins = n > 0 && kind != 0 && below(6) == 0;
      if (joins) {
        AddTo(static_cast<int>(below(work.groups.size())), std::move(node));
      } else {
        Add(std::move(node), std::move(may));
      }
    }
  }

  Machine machine = MachineOf(2);
  Workload work;
};

}  // namespace thalweg
