// SPDX-License-Identifier: Apache-2.0
#include "thalweg/base/thread_switches.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace thalweg {
namespace {

int64_t NowNanos() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

class ThreadSwitchesTest : public testing::Test {
 protected:
  void SetUp() override {
    const ThreadSwitches::Watch watch;
    if (!watch.status().ok()) GTEST_SKIP() << watch.status().ToString();
  }
};

// A thread that sleeps has no processor; one whose sleep is over at once may count as preempted.
void BeOut(int64_t micros = 1000) {
  std::this_thread::sleep_for(std::chrono::microseconds(micros));
}

TEST_F(ThreadSwitchesTest, AThreadThatWaitsWasOut) {
  ThreadSwitches::Watch watch;
  std::vector<ThreadSwitch> switches;
  const int64_t begin = NowNanos();
  BeOut();
  const int64_t end = NowNanos();
  watch.Take(&switches);
  ASSERT_FALSE(switches.empty());
  int64_t before = begin, waits = 0;
  for (const ThreadSwitch& each : switches) {
    EXPECT_LE(before, each.out_nanos);
    EXPECT_LE(each.out_nanos, each.in_nanos);
    EXPECT_LE(each.in_nanos, end);
    before = each.in_nanos;
    waits += each.is_preempted ? 0 : 1;
  }
  EXPECT_GT(waits, 0);
  const size_t taken = switches.size();
  std::vector<ThreadSwitch> again;
  watch.Take(&again);  // what was taken is not told again
  for (const ThreadSwitch& each : again) EXPECT_LE(switches[taken - 1].in_nanos, each.out_nanos);
}

TEST_F(ThreadSwitchesTest, AThreadThatGivesWayToAnotherIsPreempted) {
  // Both may use one processor alone, until the switches show.
  cpu_set_t before, one;
  ASSERT_EQ(::sched_getaffinity(0, sizeof(before), &before), 0);
  CPU_ZERO(&one);
  CPU_SET(::sched_getcpu(), &one);
  ASSERT_EQ(::sched_setaffinity(0, sizeof(one), &one), 0);
  std::atomic<bool> stop{false};
  std::thread other([&stop] {
    while (!stop.load(std::memory_order_relaxed)) continue;
  });
  bool seen = false;
  {
    ThreadSwitches::Watch watch;
    const int64_t deadline = NowNanos() + 30'000'000'000;
    while (!seen && NowNanos() < deadline) {
      std::vector<ThreadSwitch> switches;
      watch.Take(&switches);
      for (const ThreadSwitch& each : switches) seen |= each.is_preempted;
    }
  }
  stop = true;
  other.join();
  ::sched_setaffinity(0, sizeof(before), &before);
  EXPECT_TRUE(seen);
}

TEST_F(ThreadSwitchesTest, OfManyTheLastAreTold) {
  ThreadSwitches::Watch watch;
  for (int i = 0; i < 400; ++i) BeOut(1);
  const int64_t last = NowNanos();
  BeOut();
  std::vector<ThreadSwitch> switches;
  watch.Take(&switches);
  EXPECT_LE(switches.size(), 224U);
  ASSERT_GE(switches.size(), 200U);
  EXPECT_LE(last, switches.back().out_nanos);
}

TEST_F(ThreadSwitchesTest, WatchesNest) {
  ThreadSwitches::Watch outer;
  { const ThreadSwitches::Watch inner; }
  BeOut();
  std::vector<ThreadSwitch> switches;
  outer.Take(&switches);
  EXPECT_FALSE(switches.empty());
}

TEST_F(ThreadSwitchesTest, AForkedProcessHasNone) {
  ThreadSwitches::Watch watch;
  BeOut();
  const pid_t child = ::fork();
  if (child == 0) {
    std::vector<ThreadSwitch> switches;
    watch.Take(&switches);
    ::_exit(switches.empty() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

}  // namespace
}  // namespace thalweg
