// SPDX-License-Identifier: Apache-2.0
// Simulator: makespans worked out by hand, and greedy placement.
#include "thalweg/placement/simulator.h"

#include <gmock/gmock.h>

#include "thalweg/placement/simulation_run.h"
#include "thalweg/placement/test_workload.h"

namespace thalweg {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class SimulatorTest : public WorkloadTest {};

TEST_F(SimulatorTest, AChainTakesTheSumOfItsNodes) {
  const int a = Add({.seconds = {1, 1}, .values = {8}});
  const int b = Add({.seconds = {2, 1}, .values = {8}, .reads = {{a, 0}}});
  Add({.seconds = {3, 1}, .reads = {{b, 0}}});
  const Simulation step = Run({0, 0, 0});
  EXPECT_EQ(step.makespan, 6);
  EXPECT_EQ(step.nodes[1].start, 1);
  EXPECT_EQ(step.nodes[1].finish, 3);
  EXPECT_EQ(step.devices[0].busy, 6);
  EXPECT_EQ(step.devices[1].busy, 0);
  EXPECT_EQ(step.transfers, 0);
}

TEST_F(SimulatorTest, AValueTakesItsLink) {
  machine.SetAllLinks({.latency = 1, .bytes_per_second = 4});
  const int a = Add({.seconds = {1, 1}, .values = {8}});
  Add({.seconds = {2, 2}, .reads = {{a, 0}}});
  const Simulation step = Run({0, 1});
  EXPECT_EQ(step.makespan, 1 + 2 + 1 + 2);
  EXPECT_EQ(step.devices[1].finish, 6);
  EXPECT_EQ(step.transferred_bytes, 8);
}

TEST_F(SimulatorTest, ThreeReadersOnADeviceTakeOneTransfer) {  // papers A3.2.2
  machine.SetAllLinks({.latency = 0, .bytes_per_second = 4});
  const int a = Add({.seconds = {1, 1}, .values = {8}});
  for (int i = 0; i < 3; ++i) Add({.seconds = {1, 1}, .reads = {{a, 0}}});
  const Simulation step = Run({0, 1, 1, 1});
  EXPECT_EQ(step.transfers, 1);
  EXPECT_EQ(step.makespan, 1 + 2 + 3);
}

TEST_F(SimulatorTest, ALinkCarriesOneValueAfterTheOther) {
  machine.SetAllLinks({.latency = 1, .bytes_per_second = 4});
  const int a = Add({.seconds = {1, 1}, .values = {4, 4}});
  Add({.seconds = {0, 0}, .reads = {{a, 0}}});
  Add({.seconds = {0, 0}, .reads = {{a, 1}}});
  const Simulation step = Run({0, 1, 1});
  EXPECT_EQ(step.nodes[1].start, 3);  // at 1, a second on the way, a second of latency
  EXPECT_EQ(step.nodes[2].start, 4);
  // Back it would have been free.
  work.nodes[2].reads = {};
  EXPECT_EQ(Run({0, 1, 1}).makespan, 3);
}

TEST_F(SimulatorTest, OrderTakesLatencyAndNoBytes) {
  machine.SetAllLinks({.latency = 2, .bytes_per_second = 1});
  const int a = Add({.seconds = {1, 1}, .values = {100}});
  Add({.seconds = {1, 1}, .reads = {{a, Workload::kOrder}}});
  EXPECT_EQ(Run({0, 1}).makespan, 4);
  EXPECT_EQ(Run({0, 0}).makespan, 2);
}

TEST_F(SimulatorTest, DevicesOfOnePoolShareIt) {
  for (int i = 0; i < 2; ++i) Add({.seconds = {3, 3}});
  EXPECT_EQ(Run({0, 1}).makespan, 3);
  machine.device(1).pool = 0;
  EXPECT_EQ(Run({0, 1}).makespan, 6);
  machine.SetPlaces(0, 2);
  EXPECT_EQ(Run({0, 1}).makespan, 3);
  EXPECT_EQ(Run({0, 0}).makespan, 3);
}

TEST_F(SimulatorTest, ADeviceWorksWhileItWaitsForAValue) {
  machine.SetAllLinks({.latency = 0, .bytes_per_second = 1});
  const int a = Add({.seconds = {1, 1}, .values = {10}});
  Add({.seconds = {1, 1}, .reads = {{a, 0}}});
  const int first = Add({.seconds = {5, 5}, .values = {0}});
  Add({.seconds = {5, 5}, .reads = {{first, 0}}});
  const Simulation step = Run({0, 1, 1, 1});
  EXPECT_EQ(step.nodes[3].finish, 10);
  EXPECT_EQ(step.makespan, 12);  // at 11 it is there
}

TEST_F(SimulatorTest, ConstantsAreEverywhereAndFeedsAreTheClients) {
  machine.SetAllLinks({.latency = 0, .bytes_per_second = 1});
  const int c = Add({.is_source = true, .home = Workload::Home::kAll, .values = {50}});
  const int x = Add({.is_source = true, .home = Workload::Home::kClient, .values = {7}});
  Add({.seconds = {1, 1}, .reads = {{c, 0}}});
  Add({.seconds = {1, 1}, .reads = {{x, 0}}});
  const Simulation step = Run({0, 1, 1, 1});
  EXPECT_EQ(step.nodes[2].finish, 1);
  EXPECT_EQ(step.nodes[3].finish, 8);
  EXPECT_EQ(step.devices[1].peak_bytes, 57);
}

TEST_F(SimulatorTest, PeaksAreWhatIsHeldAtOnce) {
  const int v = Add({.is_source = true, .values = {100}, .state = 100});
  const int a = Add({.seconds = {1, 1}, .values = {10}, .reads = {{v, 0}}});
  const int b = Add({.seconds = {1, 1}, .values = {20}, .reads = {{a, 0}}});
  Add({.seconds = {1, 1}, .values = {5}, .reads = {{b, 0}}});
  EXPECT_EQ(Run({0, 0, 0, 0}).devices[0].peak_bytes, 130);  // while b runs
  work.nodes[a].is_kept = true;
  EXPECT_EQ(Run({0, 0, 0, 0}).devices[0].peak_bytes, 135);  // at the end
  machine.device(0).memory_limit = 120;
  EXPECT_EQ(Run({0, 0, 0, 0}).missing_bytes, 15);
  // The variable's value is sent and held there, too.
  EXPECT_EQ(Run({0, 1, 1, 1}).devices[1].peak_bytes, 110);
}

TEST_F(SimulatorTest, ASlowLinkKeepsAChainTogether) {  // papers A3.2.1
  machine.SetAllLinks({.latency = 0, .bytes_per_second = 1});
  const int a = Add({.seconds = {1, 9}, .values = {10}});
  const int b = Add({.seconds = {3, 2}, .values = {10}, .reads = {{a, 0}}});
  Add({.seconds = {3, 2}, .reads = {{b, 0}}});
  EXPECT_THAT(Greedy(), ElementsAre(0, 0, 0));
  machine.SetAllLinks({.latency = 0, .bytes_per_second = 100});
  EXPECT_THAT(Greedy(), ElementsAre(0, 1, 1));
}

TEST_F(SimulatorTest, AFastDeviceAttractsHeavyNodes) {  // papers A3.2.1
  for (int i = 0; i < 4; ++i) Add({.seconds = {3, 1}});
  // Three there take as long as one here, and the first of equal ones is taken.
  EXPECT_THAT(Greedy(), ElementsAre(1, 1, 0, 1));
  EXPECT_EQ(Run(Greedy()).makespan, 3);
}

TEST_F(SimulatorTest, AVariableGoesWhereItIsRead) {
  machine.SetAllLinks({.latency = 0, .bytes_per_second = 1});
  const int v = Add({.is_source = true, .values = {50}, .state = 50});
  const int x = Add({.is_source = true, .home = Workload::Home::kAll, .values = {1}});
  Add({.seconds = {9, 1}, .reads = {{v, 0}, {x, 0}}});
  EXPECT_THAT(Greedy(), ElementsAre(1, 0, 1));
  // Unless it may not.
  work.groups[v].may = {true, false};
  EXPECT_THAT(Greedy(), ElementsAre(0, 0, 0));
}

TEST_F(SimulatorTest, AGroupIsDecidedWithAllItsWork) {
  const int a = Add({.seconds = {1, 2}, .values = {1}});
  AddTo(a, {.seconds = {9, 1}, .reads = {{a, 0}}});
  EXPECT_THAT(Greedy(), ElementsAre(1));
}

TEST_F(SimulatorTest, NodesGoOnlyWhereTheyMay) {
  Add({.seconds = {9, 1}}, {true, false});
  Add({.seconds = {1, 9}}, {false, true});
  EXPECT_THAT(Greedy(), ElementsAre(0, 1));
}

TEST_F(SimulatorTest, AFullDeviceIsLeftAlone) {  // papers A4.3
  machine.device(0).memory_limit = 100;
  machine.SetAllLinks({.latency = 5, .bytes_per_second = 1});
  for (int i = 0; i < 2; ++i) {
    const int v = Add({.is_source = true, .values = {60}, .state = 60});
    Add({.seconds = {1, 9}, .reads = {{v, 0}}});
  }
  EXPECT_THAT(Greedy(), ElementsAre(0, 0, 1, 1));
  EXPECT_EQ(Run(Greedy()).missing_bytes, 0);
  // Where nothing has room, the least is missing.
  machine.device(0).memory_limit = 50;
  machine.device(1).memory_limit = 55;
  EXPECT_EQ(Greedy().front(), 1);
}

// What greedy placement sees while it decides is what comes of its decisions.
TEST_F(SimulatorTest, TheGreedyRunIsTheSimulatedOne) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    machine = MachineOf(1 + static_cast<int>(seed % 4));
    machine.SetAllLinks({.latency = 1, .bytes_per_second = 3});
    if (seed % 3 == 0) machine.device(0).memory_limit = 60;
    if (seed % 5 == 0) machine.device(machine.num_devices() - 1).pool = 0;
    work = {};
    AddRandom(40, seed);
    Check();
    const WorkIndex index(machine, work);
    std::vector<int> device(work.groups.size(), -1);
    SimulationRun run(machine, work, index, &device);
    run.Run();
    const Simulation seen = run.Report(), simulated = Run(device);
    EXPECT_EQ(Greedy(), device);
    EXPECT_EQ(seen.makespan, simulated.makespan);
    EXPECT_EQ(seen.transfers, simulated.transfers);
    for (size_t n = 0; n < work.nodes.size(); ++n) {
      ASSERT_EQ(seen.nodes[n].start, simulated.nodes[n].start) << n;
      ASSERT_EQ(seen.nodes[n].finish, simulated.nodes[n].finish) << n;
      EXPECT_TRUE(work.groups[work.nodes[n].group].may[device[work.nodes[n].group]]);
    }
  }
}

// No schedule is shorter than the work on a device, nor longer than all of it and all transfers.
TEST_F(SimulatorTest, MakespansAreWithinTheirBounds) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    machine = MachineOf(3);
    machine.SetAllLinks({.latency = 1, .bytes_per_second = 2});
    work = {};
    AddRandom(30, seed);
    const Simulation step = Run(Greedy());
    double most = step.transferred_bytes / 2 + step.transfers, least = 0;
    for (const Simulation::DeviceUse& use : step.devices) {
      most += use.busy;
      least = std::max(least, use.busy);
      EXPECT_LE(use.finish, step.makespan);
    }
    EXPECT_GE(step.makespan, least);
    EXPECT_LE(step.makespan, most);
  }
}

TEST_F(SimulatorTest, WorkloadsThatContradictThemselvesAreRefused) {
  Add({.seconds = {1, 1}, .values = {1}});
  const Workload good = work;
  const auto refused = [&](std::string_view why) {
    const Status status = work.Validate(machine);
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr(std::string(why)));
    work = good;
  };
  work.nodes[0].group = 1;
  refused("node 0 is of group 1, there are 1");
  work.nodes[0].seconds = {1};
  refused("times for 1 devices, there are 2");
  work.nodes[0].seconds = {1, -1};
  refused("no amount");
  work.nodes[0].reads = {{0, 0}};
  refused("node 0 reads node 0, which does not come before it");
  work.groups[0].may = {false, false};
  refused("group 0 may be on no device");
  work.groups[0].may = {true};
  refused("says of 1 devices");
  Add({.seconds = {1, 1}, .reads = {{0, 1}}});
  refused("reads value 1 of node 0, which has 1");
  Add({.is_source = true, .reads = {{0, 0}}});
  refused("is a source and reads node 0");
}

}  // namespace
}  // namespace thalweg
