// SPDX-License-Identifier: Apache-2.0
// Simulator: how long a step takes for a placement, by list scheduling (papers A3.2.1): a node runs
// when all that it reads is on its device and its pool has a place, in the order in which nodes
// come to that.
//
//   const Simulator simulator(machine, work);
//   const Simulation step = simulator.Run(device_of_group);
//   if (step.makespan < 1 && step.devices[d].peak_bytes < 1e9) return step.nodes[n].finish;
//
// A value goes once to each device that reads it, when the first reader there has all else; it
// leaves as soon as it is made and its link is free. What only orders takes the link's latency, and
// holds nobody up.
// Ownership: machine and workload outlive it.
// Threads: const members from any.
// Errors: none; machine and workload are valid, each group is where it may be.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "thalweg/placement/machine.h"
#include "thalweg/placement/workload.h"

namespace thalweg {

struct WorkIndex;

struct Simulation {
  struct Times {
    double start = 0;
    double finish = 0;
  };
  struct DeviceUse {
    double busy = 0;        // the time that its nodes take
    double finish = 0;      // of its last node
    double peak_bytes = 0;  // held at once: state, constants, values, what was received
  };
  double makespan = 0;
  std::vector<Times> nodes;
  std::vector<DeviceUse> devices;
  int transfers = 0;
  double transferred_bytes = 0;
  double missing_bytes = 0;  // by which peaks are above the devices' limits, in all
};

// What placements are compared by: memory that is missing weighs more than any time.
struct PlacementScore {
  double missing_bytes = 0;
  double makespan = 0;
  friend auto operator<=>(const PlacementScore&, const PlacementScore&) = default;
};

class Simulator {
 public:
  Simulator(const Machine& machine, const Workload& work);
  ~Simulator();

  const Machine& machine() const { return machine_; }
  const Workload& work() const { return work_; }

  Simulation Run(std::span<const int> device_of_group) const;
  // The same without what only people look at.
  PlacementScore Score(std::span<const int> device_of_group) const;
  // Runs while it decides: a group when its first node could run, and then for the device on which
  // that and the rest of the group's own work would end soonest; a source goes where it is first
  // read. Of equal ones the first.
  std::vector<int> PlaceGreedily() const;

 private:
  const Machine& machine_;
  const Workload& work_;
  const std::unique_ptr<const WorkIndex> index_;
};

}  // namespace thalweg
