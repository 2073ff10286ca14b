// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/counters/step_counter.h"

#include <gtest/gtest.h>

#include <optional>
#include <thread>
#include <vector>

#include "thalweg/testing/fake_clock.h"

namespace thalweg {
namespace {

using namespace std::chrono_literals;

TEST(StepCounterTest, CountsHowStepsEndAndHowLongTheyTook) {
  FakeClock clock;
  StepCounter steps(clock);
  {
    StepCounter::Open open(steps);
    clock.Advance(50ms);
    EXPECT_TRUE(open.End(OkStatus()).ok());
  }
  {
    StepCounter::Open open(steps);
    clock.Advance(200s);
    EXPECT_EQ(open.End(Cancelled("why")).message(), "why");
  }
  { const StepCounter::Open dropped(steps); }  // as by an early return
  const StepCounter::Values values = steps.Read();
  EXPECT_EQ(values.done, 1);
  EXPECT_EQ(values.failed, 2);
  EXPECT_EQ(values.open, 0);
  EXPECT_DOUBLE_EQ(values.seconds, 200.05);
  EXPECT_EQ(values.by_seconds.front(), 1);  // none of no time at all is lost
  EXPECT_EQ(values.by_seconds[3], 1);       // up to 0.1 s
  EXPECT_EQ(values.by_seconds.back(), 1);
  EXPECT_FALSE(values.oldest_seconds.has_value());
}

TEST(StepCounterTest, TheOldestIsTheFirstThatIsStillOpen) {
  FakeClock clock;
  StepCounter steps(clock);
  std::optional<StepCounter::Open> first(steps);
  clock.Advance(1s);
  std::optional<StepCounter::Open> second(steps);
  clock.Advance(1s);
  EXPECT_EQ(steps.Read().oldest_seconds, 2.0);
  first.reset();
  EXPECT_EQ(steps.Read().oldest_seconds, 1.0);
  EXPECT_EQ(steps.Read().open, 1);
  second.reset();
  EXPECT_EQ(steps.Read().open, 0);
}

TEST(StepCounterTest, NoneIsLostAmongThreads) {
  constexpr int kThreads = 4, kEach = 1000;
  FakeClock clock;
  StepCounter steps(clock);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < kEach; ++j) {
        StepCounter::Open open(steps);
        if (j % 2 == 0) (void)open.End(OkStatus());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const StepCounter::Values values = steps.Read();
  EXPECT_EQ(values.done, kThreads * kEach / 2);
  EXPECT_EQ(values.failed, kThreads * kEach / 2);
  EXPECT_EQ(values.open, 0);
}

}  // namespace
}  // namespace thalweg
