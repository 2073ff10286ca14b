// SPDX-License-Identifier: Apache-2.0
// SearchPlacer: a better placement than the greedy one, by trying others in the simulator.
//
//   const SearchPlacer placer({.evaluations = 500});
//   const SearchedPlacement found = placer.Place(simulator);
//   if (found.score.makespan < 1) return found.device_of_group;
//
// It begins with the greedy placement, with `starts`, and with simple ones (all on one device,
// dealt in turn, cut into stretches); the best of these is changed: a group to another device, one
// end of a transfer to the other, a connected block. What is a little worse may be gone through,
// less and less so; what comes back is the best that was seen. Where no more placements are
// possible than may be tried, all are.
// Ownership: clock and simulator outlive the calls.
// Threads: const members from any.
// Errors: none; never worse than the greedy placement, whatever the budget.
#pragma once

#include <cstdint>
#include <vector>

#include "thalweg/base/clock.h"
#include "thalweg/placement/simulator.h"

namespace thalweg {

struct SearchOptions {
  int evaluations = 200;  // simulations, those of the starts too
  // No new simulation begins after `end` on this clock; null: the number alone counts, and the
  // result depends on nothing else.
  const Clock* clock = nullptr;
  Clock::TimePoint end = Clock::TimePoint::max();
  uint64_t seed = 1;
  std::vector<std::vector<int>> starts;  // placements that are allowed
};

struct SearchedPlacement {
  std::vector<int> device_of_group;
  PlacementScore score;
  int evaluations = 0;
};

class SearchPlacer {
 public:
  explicit SearchPlacer(SearchOptions options = {}) : options_(std::move(options)) {}
  SearchedPlacement Place(const Simulator& simulator) const;

 private:
  const SearchOptions options_;
};

}  // namespace thalweg
