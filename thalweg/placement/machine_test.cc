// SPDX-License-Identifier: Apache-2.0
#include "thalweg/placement/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thalweg/kernel/test_device.h"
#include "thalweg/placement/test_workload.h"

namespace thalweg {
namespace {

using ::testing::HasSubstr;

TEST(MachineTest, GuessesByKind) {
  NamedDevice cpu0("/job:w/replica:0/task:0/device:CPU:0");
  NamedDevice cpu1("/job:w/replica:0/task:0/device:CPU:1");
  NamedDevice gpu("/job:w/replica:0/task:0/device:GPU:0", 1, false);
  NamedDevice far("/job:w/replica:0/task:1/device:CPU:0");
  const std::vector<Device*> devices = {&cpu0, &cpu1, &gpu, &far};
  const Machine machine = Machine::Guess(devices);
  EXPECT_TRUE(machine.Validate().ok());
  EXPECT_FALSE(machine.IsUniform());
  EXPECT_EQ(machine.device(0).pool, machine.device(1).pool);
  EXPECT_NE(machine.device(0).pool, machine.device(2).pool);
  EXPECT_NE(machine.device(0).pool, machine.device(3).pool);
  EXPECT_EQ(machine.num_pools(), 3);
  EXPECT_GT(machine.device(2).flops, machine.device(0).flops);
  EXPECT_EQ(machine.device(0).memory_limit, 1 << 20);
  EXPECT_EQ(machine.link(0, 0).latency, 0);
  EXPECT_LT(machine.link(0, 1).latency, machine.link(0, 2).latency);
  EXPECT_LT(machine.link(0, 2).latency, machine.link(2, 3).latency);
}

TEST(MachineTest, BadNumbersAreNamed) {
  const auto refused = [](const auto& change, std::string_view why) {
    Machine machine = MachineOf(2);
    EXPECT_TRUE(machine.Validate().ok());
    EXPECT_TRUE(machine.IsUniform());
    change(machine);
    const Status status = machine.Validate();
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr(std::string(why)));
  };
  refused([](Machine& m) { m.device(1).flops = 0; }, "flops of device 'B' must be above 0, got 0");
  refused([](Machine& m) { m.device(1).bytes = -1; }, "bytes of device 'B'");
  refused([](Machine& m) { m.device(0).node_seconds = -1; }, "node_seconds of device 'A'");
  refused([](Machine& m) { m.device(0).pool = 1 << 30; }, "pool of device 'A' must be from 0 to 1");
  refused([](Machine& m) { m.SetPlaces(1, 0); }, "pool 1 of device 'B' must have a place, got 0");
  refused([](Machine& m) { m.SetLink(0, 1, {.latency = -1}); },
          "latency of the link from 'A' to 'B'");
  refused([](Machine& m) { m.SetAllLinks({.bytes_per_second = 0}); }, "bytes_per_second of the");
  refused([](Machine& m) { m = Machine({}); }, "there must be a device");
}

}  // namespace
}  // namespace thalweg
