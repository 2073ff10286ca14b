// SPDX-License-Identifier: Apache-2.0
#include "thalweg/base/cgroup.h"

#include <gtest/gtest.h>

#include "thalweg/base/test_system_files.h"

namespace thalweg {
namespace {

class ProcessLimitsTest : public SystemFilesTest {
 protected:
  ProcessLimits Limits() const { return ReadProcessLimits(root()); }
};

TEST_F(ProcessLimitsTest, AMachineWithoutGroupsLimitsNothing) {
  EXPECT_EQ(Limits().memory, 0);
  EXPECT_EQ(Limits().processors, 0);
}

TEST_F(ProcessLimitsTest, TheLeastOfAGroupAndThoseAbove) {
  Has("/proc/self/cgroup", "0::/pods/one\n");
  Has("/sys/fs/cgroup/pods/one/memory.max", "max\n");
  Has("/sys/fs/cgroup/pods/one/cpu.max", "250000 100000\n");
  Has("/sys/fs/cgroup/pods/one/cpu.stat", "usage_usec 5\nnr_throttled 1\nthrottled_usec 9\n");
  Has("/sys/fs/cgroup/pods/memory.max", "1000000\n");
  Has("/sys/fs/cgroup/pods/cpu.max", "150000 100000\n");
  Has("/sys/fs/cgroup/pods/cpu.stat", "usage_usec 5\nnr_throttled 7\nthrottled_usec 2500000\n");
  const ProcessLimits limits = Limits();
  EXPECT_EQ(limits.memory, 1000000);
  EXPECT_EQ(limits.processors, 1.5);
  EXPECT_EQ(limits.throttled, 7);
  EXPECT_EQ(limits.throttled_seconds, 2.5);
}

// A container names its host's path and sees its own group as the top.
TEST_F(ProcessLimitsTest, TheTopOfAContainerCounts) {
  Has("/proc/self/cgroup", "0::/docker/ab12\n");
  Has("/sys/fs/cgroup/memory.max", "2000000\n");
  Has("/sys/fs/cgroup/cpu.max", "max 100000\n");
  EXPECT_EQ(Limits().memory, 2000000);
  EXPECT_EQ(Limits().processors, 0);
}

TEST_F(ProcessLimitsTest, VersionOne) {
  Has("/proc/self/cgroup", "9:name=systemd:/\n4:memory:/box\n1:cpu,cpuacct:/box\n0::/\n");
  Has("/sys/fs/cgroup/memory/box/memory.limit_in_bytes", "9223372036854771712\n");
  Has("/sys/fs/cgroup/memory/memory.limit_in_bytes", "3000000\n");
  Has("/sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "50000\n");
  Has("/sys/fs/cgroup/cpu/box/cpu.cfs_period_us", "100000\n");
  Has("/sys/fs/cgroup/cpu/box/cpu.stat",
      "nr_periods 9\nnr_throttled 3\nthrottled_time 4000000000\n");
  Has("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  Has("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  const ProcessLimits limits = Limits();
  EXPECT_EQ(limits.memory, 3000000);
  EXPECT_EQ(limits.processors, 0.5);
  EXPECT_EQ(limits.throttled, 3);
  EXPECT_EQ(limits.throttled_seconds, 4);
}

TEST_F(ProcessLimitsTest, WhatIsNoNumberLimitsNothing) {
  Has("/proc/self/cgroup", "0:\n::\n0::relative\n4:memory:/a\n0::/a\n");
  Has("/sys/fs/cgroup/a/memory.max", "-5\n");
  Has("/sys/fs/cgroup/a/cpu.max", "100000 0\n");
  Has("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "none\n");
  EXPECT_EQ(Limits().memory, 0);
  EXPECT_EQ(Limits().processors, 0);
}

TEST_F(ProcessLimitsTest, AtLeastOneProcessorIsUsable) { EXPECT_GE(UsableProcessors(), 1); }

}  // namespace
}  // namespace thalweg
