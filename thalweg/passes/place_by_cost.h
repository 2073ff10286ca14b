// SPDX-License-Identifier: Apache-2.0
// PlaceByCost: of the devices where the groups of a step may be, those with which it would end
// soonest (papers A3.2.1, A4.3).
//
//   PlaceByCost by_cost({.machine = Machine::Guess(devices), .method = PlacementMethod::kGreedy});
//   ASSIGN_OR_RETURN(std::vector<int> device, by_cost.Place(step, group_of_node, may, preferred));
//
// The machine's devices are the placer's, by number. What was measured counts from the next
// placement on. Ties, and what costs nothing anywhere, go to the first device. By
// PlacementMethod::kPreferred all stay on the preferred devices, and only what that costs is known.
// Ownership: the measurements outlive it; it shares the graph of the last step.
// Threads: as placers: Place and Explain from one at a time.
// Errors: those of the machine and of a workload that contradicts itself, InvalidArgument.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "thalweg/passes/pass.h"
#include "thalweg/passes/placement_explanation.h"
#include "thalweg/passes/placement_method.h"
#include "thalweg/placement/cost_model.h"
#include "thalweg/placement/simulator.h"

namespace thalweg {

class PlaceByCost {
 public:
  struct Options {
    Machine machine;
    PlacementMethod method = PlacementMethod::kGreedy;
    const MeasuredCosts* measured = nullptr;
    int evaluations = 200;  // of a search
  };
  explicit PlaceByCost(Options options) : options_(std::move(options)) {}

  // Devices by group. `group_of_node` by id of the step's nodes, `may` and `preferred` by group.
  Result<std::vector<int>> Place(const StepGraph& step, const std::vector<int>& group_of_node,
                                 std::vector<Workload::Group> may, std::vector<int> preferred);
  // Of the last step.
  int DeviceOf(int group) const { return device_of_group_[group]; }
  // Adds what the last step would take with the group on each device, and what the node, which is
  // the user's, would there.
  void Explain(const Node& node, int group, PlacementExplanation* to) const;
  // The last step as it is foreseen; where none was placed, nothing.
  Simulation Foresee() const;

 private:
  const Options options_;
  Workload work_;  // of the last step
  std::vector<int> device_of_group_;
  std::shared_ptr<const Graph> graph_;                         // of the last step
  std::unordered_map<const Node*, const Node*> made_of_node_;  // there, by its origin
};

// What a step asks of the machine's devices. Back edges of loops are left out.
Workload WorkloadOf(const StepGraph& step, const std::vector<int>& group_of_node,
                    std::vector<Workload::Group> may, const CostModel& costs);

}  // namespace thalweg
