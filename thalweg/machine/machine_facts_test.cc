// SPDX-License-Identifier: Apache-2.0
#include "thalweg/machine/machine_facts.h"

#include <gtest/gtest.h>

#include "thalweg/base/test_system_files.h"
#include "thalweg/machine/roof.h"

namespace thalweg {
namespace {

class MachineFactsTest : public SystemFilesTest {};

TEST_F(MachineFactsTest, ReadsWhatTheSystemSays) {
  Has("/proc/cpuinfo",
      "processor\t: 0\nmodel name\t: Some CPU\nsiblings\t: 4\ncpu cores\t: 2\n\n"
      "processor\t: 1\nmodel name\t: Some CPU\n");
  Has("/proc/meminfo",
      "MemTotal:       1000 kB\nMemAvailable:    250 kB\nSwapTotal: 100 kB\nSwapFree: 60 kB\n");
  Has("/proc/loadavg", "1.50 0.5 0.2 1/200 77\n");
  Has("/proc/stat", "cpu  100 50 30 900 5 10 10 40 0 0\ncpu0 1 1 1\n");
  Has("/proc/self/cgroup", "0::/\n");
  Has("/sys/fs/cgroup/memory.max", "500000\n");
  Has("/sys/fs/cgroup/pids.max", "300\n");
  Has("/sys/fs/cgroup/pids.current", "7\n");
  Has("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
  Has("/sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n");
  Has("/dev/nvidia0", "");
  Has("/dev/nvidiactl", "");
  Has("/dev/dri/renderD128", "");
  const MachineFacts machine = ReadMachineFacts(root());
  EXPECT_EQ(machine.processor, "Some CPU");
  EXPECT_EQ(machine.processors, 2);
  EXPECT_EQ(machine.threads_a_core, 2);
  EXPECT_EQ(machine.memory, 1024000);
  EXPECT_EQ(machine.available, 256000);
  EXPECT_EQ(machine.swap_used, 40960);
  EXPECT_EQ(machine.limits.memory, 500000);
  EXPECT_EQ(machine.task_limit, 300);
  EXPECT_EQ(machine.tasks, 7);
  EXPECT_EQ(machine.huge_pages, "madvise");
  EXPECT_EQ(machine.clock_source, "hpet");
  EXPECT_EQ(machine.load, 1.5);
  EXPECT_EQ(machine.cards,
            (std::vector<std::string>{root() + "/dev/dri/renderD128", root() + "/dev/nvidia0"}));
  const ProcessorTimes times = ReadProcessorTimes(root());
  EXPECT_DOUBLE_EQ(times.busy, 2.0);
  EXPECT_DOUBLE_EQ(times.stolen, 0.4);
}

TEST_F(MachineFactsTest, NothingThereIsEmpty) {
  const MachineFacts machine = ReadMachineFacts(root());
  EXPECT_EQ(machine.processor, "");
  EXPECT_EQ(machine.memory, 0);
  EXPECT_EQ(machine.threads_a_core, 1);
  EXPECT_TRUE(machine.cards.empty());
  EXPECT_EQ(ReadProcessorTimes(root()).busy, 0);
}

TEST_F(MachineFactsTest, WhatIsDamaged) {
  Has("/proc/cpuinfo", "model name:\nprocessor\nsiblings\t: many\ncpu cores\t: 0\n:\n");
  Has("/proc/meminfo", "MemTotal: lots kB\n\xff\xfe\n");
  Has("/proc/stat", "cpu");
  Has("/sys/kernel/mm/transparent_hugepage/enabled", "] always [");
  const MachineFacts machine = ReadMachineFacts(root());
  EXPECT_EQ(machine.memory, 0);
  EXPECT_EQ(machine.threads_a_core, 1);
  EXPECT_EQ(machine.huge_pages, "");
}

// That there are figures, not which: these are the machine's.
TEST(RoofTest, HasAllFigures) {
  const Result<Roof> roof = MeasureRoof(2);
  ASSERT_TRUE(roof.ok()) << roof.status().message();
  EXPECT_EQ(roof->threads, 2);
  for (const double figure :
       {roof->product_one, roof->product_all, roof->copy_one, roof->copy_all, roof->loopback})
    EXPECT_GT(figure, 0);
  EXPECT_GE(roof->foreign, 0);
}

}  // namespace
}  // namespace thalweg
