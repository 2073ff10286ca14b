// SPDX-License-Identifier: Apache-2.0
#include "thalweg/machine/findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace thalweg {
namespace {

using ::testing::HasSubstr;

// A machine of eight processors without faults.
Examined Sound() {
  Examined examined;
  MachineFacts& machine = examined.machine;
  machine.processors = machine.usable = 8;
  machine.memory = 64'000'000'000;
  machine.available = 32'000'000'000;
  machine.clock_source = "tsc";
  machine.huge_pages = "madvise";
  machine.open_files = machine.most_open_files = 65536;
  examined.level = examined.hardware = compute::IsaLevel::kAvx2;
  examined.devices = {{"/device:CPU:0", "CPU"}};
  examined.roof = Roof{.threads = 8,
                       .product_one = 100e9,
                       .product_all = 760e9,
                       .copy_one = 10e9,
                       .copy_all = 40e9,
                       .loopback = 20e-6};
  return examined;
}

TEST(FindingsTest, ASoundMachineHasNone) { EXPECT_TRUE(Examine(Sound()).empty()); }

// The one finding of a machine that has one fault.
class OneFindingTest : public ::testing::Test {
 protected:
  Finding The() const {
    std::vector<Finding> found = Examine(examined);
    EXPECT_EQ(found.size(), 1U);
    return found.empty() ? Finding{} : found.front();
  }
  void Expect(FindingKind kind, const std::string& what, const std::string& remedy) const {
    const Finding finding = The();
    EXPECT_EQ(finding.kind, kind);
    EXPECT_THAT(finding.what, HasSubstr(what));
    EXPECT_THAT(finding.remedy, HasSubstr(remedy));
  }

  Examined examined = Sound();
};

TEST_F(OneFindingTest, AContainersProcessors) {
  examined.machine.limits.processors = 1.5;
  examined.machine.usable = 2;
  Expect(FindingKind::kNote, "may use 1.5 of 8 processors; sessions start 2 threads", "--cpus");
}

TEST_F(OneFindingTest, Affinity) {
  examined.machine.usable = 3;
  Expect(FindingKind::kNote, "may run on 3 of 8 processors", "taskset");
}

TEST_F(OneFindingTest, Throttled) {
  examined.machine.limits.throttled = 12;
  examined.machine.limits.throttled_seconds = 3.25;
  Expect(FindingKind::kSlow, "12 times, and stood still for 3.2 s", "raise its limit");
}

TEST_F(OneFindingTest, Frequencies) {
  examined.machine.governor = "powersave";
  Expect(FindingKind::kSlow, "'powersave'", "performance");
}

TEST_F(OneFindingTest, Clock) {
  examined.machine.clock_source = "hpet";
  Expect(FindingKind::kSlow, "'hpet'", "clocksource=tsc");
}

TEST_F(OneFindingTest, AContainersMemory) {
  examined.machine.limits.memory = 2'000'000'000;
  Expect(FindingKind::kNote, "may use 2.0 GB of the machine's 64 GB", "--memory");
}

TEST_F(OneFindingTest, LittleMemoryIsLeft) {
  examined.machine.available = 1'000'000'000;
  examined.machine.swap_used = 1;
  Expect(FindingKind::kSlow, "left 1.0 GB of 64 GB, and the system swaps", "-rss");
}

TEST_F(OneFindingTest, HugePages) {
  examined.machine.huge_pages = "never";
  Expect(FindingKind::kSlow, "huge pages are off", "madvise");
}

TEST_F(OneFindingTest, Overcommit) {
  examined.machine.overcommit = 2;
  Expect(FindingKind::kNote, "vm.overcommit_memory is 2", "sysctl");
}

TEST_F(OneFindingTest, FewFiles) {
  examined.machine.open_files = 256;
  Expect(FindingKind::kWrong, "may open 256 files", "ulimit -n 65536");
  examined.machine.most_open_files = 512;
  Expect(FindingKind::kWrong, "may open 256 files", "ulimit -n 65536, after root has raised");
}

TEST_F(OneFindingTest, FewThreads) {
  examined.machine.task_limit = 100;
  examined.machine.tasks = 50;
  Expect(FindingKind::kWrong, "may have 100 threads and has 50", "--pids-limit");
}

TEST_F(OneFindingTest, InstructionSets) {
  examined.level = compute::IsaLevel::kSse4;
  Expect(FindingKind::kSlow, "the processor has", "not capped");
  examined.hardware = compute::IsaLevel::kSse4;
  Expect(FindingKind::kSlow, "no AVX2", "another machine");
}

TEST_F(OneFindingTest, Components) {
  examined.missing_components = {"libthalweg_zlib.so"};
  Expect(FindingKind::kWrong, "libthalweg_zlib.so is not beside", "whole");
}

TEST_F(OneFindingTest, ACardWithoutADriver) {
  examined.machine.cards = {"/dev/nvidia0"};
  Expect(FindingKind::kNote, "/dev/nvidia0", "NVRTC");
  examined.devices.push_back({"/device:GPU:0", "GPU"});
  EXPECT_TRUE(Examine(examined).empty());
}

TEST_F(OneFindingTest, OtherPrograms) {
  examined.roof->foreign = 1.5;
  Expect(FindingKind::kSlow, "kept 1.5 of 8 processors busy", "top");
}

TEST_F(OneFindingTest, AHostThatTakes) {
  examined.roof->stolen = 1;
  Expect(FindingKind::kSlow, "gave 12 % of its processor time", "processors of its own");
}

TEST_F(OneFindingTest, ThreadsThatGainLittle) {
  examined.roof->product_all = 400e9;
  Expect(FindingKind::kSlow, "8 threads make products 4.0 times", "nothing else");
  examined.machine.threads_a_core = 2;
  Expect(FindingKind::kNote, "2 of them share a core", "threads = 4");
}

TEST_F(OneFindingTest, Loopback) {
  examined.roof->loopback = 250e-6;
  Expect(FindingKind::kSlow, "takes 250 us", "iptables");
}

TEST_F(OneFindingTest, NoLoopback) {
  examined.roof->no_loopback = "cannot connect to '127.0.0.1'";
  examined.roof->loopback = 0;
  Expect(FindingKind::kWrong, "do not reach each other: cannot connect", "ip link set lo up");
}

TEST_F(OneFindingTest, NothingCouldBeMeasured) {
  examined.roof.reset();
  examined.no_roof = "no memory";
  Expect(FindingKind::kWrong, "could be measured: no memory", "ulimit -a");
}

TEST_F(OneFindingTest, DevicesThatWereAskedFor) {
  examined.no_devices = "no OpenCL driver";
  Expect(FindingKind::kWrong, "cannot be had: no OpenCL driver", "install");
}

TEST(FindingsTest, TheWorstComeFirst) {
  Examined examined = Sound();
  examined.machine.overcommit = 2;
  examined.machine.huge_pages = "never";
  examined.machine.open_files = 10;
  const std::vector<Finding> found = Examine(examined);
  ASSERT_EQ(found.size(), 3U);
  EXPECT_STREQ(FindingKindName(found[0].kind), "wrong");
  EXPECT_STREQ(FindingKindName(found[1].kind), "slow");
  EXPECT_STREQ(FindingKindName(found[2].kind), "note");
}

}  // namespace
}  // namespace thalweg
