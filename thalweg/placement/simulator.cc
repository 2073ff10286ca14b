// SPDX-License-Identifier: Apache-2.0
#include "thalweg/placement/simulator.h"

#include <algorithm>

#include "thalweg/placement/simulation_run.h"

namespace thalweg {

Simulator::Simulator(const Machine& machine, const Workload& work)
    : machine_(machine), work_(work), index_(std::make_unique<WorkIndex>(machine, work)) {}
Simulator::~Simulator() = default;

Simulation Simulator::Run(std::span<const int> device_of_group) const {
  std::vector<int> device(device_of_group.begin(), device_of_group.end());
  SimulationRun run(machine_, work_, *index_, &device);
  run.Run();
  return run.Report();
}

PlacementScore Simulator::Score(std::span<const int> device_of_group) const {
  std::vector<int> device(device_of_group.begin(), device_of_group.end());
  SimulationRun run(machine_, work_, *index_, &device);
  run.Run();
  PlacementScore score{.makespan = run.makespan()};
  if (!index_->may_overflow) return score;
  const std::vector<double> peaks = run.Peaks();
  for (int d = 0; d < machine_.num_devices(); ++d) {
    score.missing_bytes += std::max(0.0, peaks[d] - machine_.device(d).memory_limit);
  }
  return score;
}

std::vector<int> Simulator::PlaceGreedily() const {
  std::vector<int> device(work_.groups.size(), -1);
  SimulationRun run(machine_, work_, *index_, &device);
  run.Run();
  return device;
}

}  // namespace thalweg
