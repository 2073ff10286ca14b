// SPDX-License-Identifier: Apache-2.0
#include "thalweg/placement/search_placer.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "thalweg/placement/test_workload.h"
#include "thalweg/testing/fake_clock.h"

namespace thalweg {
namespace {

class SearchPlacerTest : public WorkloadTest {
 protected:
  SearchedPlacement Search(SearchOptions options) {
    Check();
    return SearchPlacer(std::move(options)).Place(Simulator(machine, work));
  }
  PlacementScore GreedyScore() { return Simulator(machine, work).Score(Greedy()); }
  // Of all placements that are allowed.
  PlacementScore Best() {
    const Simulator simulator(machine, work);
    std::vector<int> device(work.groups.size(), 0);
    PlacementScore best;
    bool is_first = true;
    for (;;) {
      bool allowed = true;
      for (size_t g = 0; g < device.size(); ++g) allowed &= work.groups[g].may[device[g]];
      if (allowed) {
        const PlacementScore score = simulator.Score(device);
        best = is_first ? score : std::min(best, score);
        is_first = false;
      }
      size_t g = 0;
      while (g < device.size() && ++device[g] == machine.num_devices()) device[g++] = 0;
      if (g == device.size()) return best;
    }
  }
};

TEST_F(SearchPlacerTest, FindsWhatGreedDoesNot) {
  // The first step to B costs a transfer that only what follows pays back.
  machine.SetAllLinks({.latency = 0, .bytes_per_second = 1});
  const int a = Add({.seconds = {1, 99}, .values = {3}});
  int last = Add({.seconds = {3, 1}, .values = {3}, .reads = {{a, 0}}});
  for (int i = 0; i < 4; ++i) last = Add({.seconds = {3, 1}, .values = {3}, .reads = {{last, 0}}});
  EXPECT_EQ(GreedyScore().makespan, 16);
  const SearchedPlacement found = Search({.evaluations = 64});
  EXPECT_EQ(found.score.makespan, 1 + 3 + 5);
  EXPECT_THAT(found.device_of_group, ::testing::ElementsAre(0, 1, 1, 1, 1, 1));
}

TEST_F(SearchPlacerTest, TinyGraphsGetTheBestThereIs) {
  int better = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    machine.SetAllLinks({.latency = 2, .bytes_per_second = 2});
    machine.device(0).memory_limit = seed % 4 == 0 ? 60 : 1e9;
    work = {};
    AddRandom(9, seed);
    const PlacementScore best = Best(), greedy = GreedyScore();
    EXPECT_LE(best, greedy);
    better += best < greedy;
    EXPECT_EQ(Search({.evaluations = 1 << 9}).score, best);
    // With fewer it goes by changes.
    const SearchedPlacement some = Search({.evaluations = 20});
    EXPECT_LE(some.score, greedy);
    EXPECT_GE(some.score, best);
  }
  EXPECT_GT(better, 10);
}

TEST_F(SearchPlacerTest, ChangesComeNearTheBest) {
  double found = 0, best = 0, greedy = 0;
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    machine = MachineOf(3);
    machine.SetAllLinks({.latency = 2, .bytes_per_second = 2});
    work = {};
    AddRandom(9, seed);
    found += Search({.evaluations = 400}).score.makespan;  // of up to 19683
    best += Best().makespan;
    greedy += GreedyScore().makespan;
  }
  EXPECT_LT(found, best + (greedy - best) / 4);
}

TEST_F(SearchPlacerTest, NeverWorseThanGreedyAndTheSameForASeed) {
  machine = MachineOf(4);
  machine.SetAllLinks({.latency = 1, .bytes_per_second = 4});
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    work = {};
    AddRandom(80, seed);
    const SearchedPlacement once = Search({.evaluations = 100, .seed = seed});
    EXPECT_LE(once.score, GreedyScore());
    EXPECT_LE(once.evaluations, 100);
    EXPECT_EQ(Search({.evaluations = 100, .seed = seed}).device_of_group, once.device_of_group);
    EXPECT_EQ(Simulator(machine, work).Score(once.device_of_group), once.score);
    for (size_t g = 0; g < work.groups.size(); ++g) {
      EXPECT_TRUE(work.groups[g].may[once.device_of_group[g]]);
    }
    EXPECT_EQ(Search({.evaluations = 0}).score, GreedyScore());
    // What one search has found another can begin with.
    const SearchedPlacement next = Search({.evaluations = 2, .starts = {once.device_of_group}});
    EXPECT_LE(next.score, once.score);
  }
}

TEST_F(SearchPlacerTest, EndsAtItsDeadline) {
  machine = MachineOf(3);
  AddRandom(60, 5);
  FakeClock clock;
  const SearchedPlacement found =
      Search({.evaluations = 1 << 20, .clock = &clock, .end = clock.Now()});
  EXPECT_EQ(found.evaluations, 1);
  EXPECT_EQ(found.device_of_group, Greedy());
}

}  // namespace
}  // namespace thalweg
