// SPDX-License-Identifier: Apache-2.0
#include "thalweg/base/tick_clock.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace thalweg {
namespace {

int64_t SteadyNanos() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// A clock of its own, which stands still until it is moved.
class MovedClock : public SystemClock {
 public:
  TimePoint Now() const override { return TimePoint(std::chrono::nanoseconds(nanos)); }
  int64_t nanos = 1000;
};

TEST(TickClockTest, MomentsAreThoseOfTheClockInTheirOrder) {
  const SystemClock clock;
  const int64_t before = SteadyNanos();
  TickClock ticks(clock);
  struct Moment {
    int64_t ticks, least, most;
  };
  std::vector<Moment> moments;
  for (int i = 0; i < 1000; ++i) {
    Moment& moment = moments.emplace_back();
    moment.least = SteadyNanos();
    moment.ticks = ticks.Now();
    moment.most = SteadyNanos();
  }
  ticks.End();
  ticks.End();
  const int64_t after = SteadyNanos();
  EXPECT_LE(before, ticks.begin_nanos());
  EXPECT_LE(ticks.end_nanos(), after);
  // What a comparison may be wrong by: half of the time between two looks, which another thread may
  // make long.
  constexpr int64_t kWrong = 10'000'000;
  int64_t last = ticks.begin_nanos();
  for (const Moment& moment : moments) {
    const int64_t nanos = ticks.Nanos(moment.ticks);
    EXPECT_LE(last, nanos);
    EXPECT_LE(moment.least - kWrong, nanos);
    EXPECT_LE(nanos, moment.most + kWrong);
    last = nanos;
  }
  EXPECT_LE(last, ticks.end_nanos());
}

TEST(TickClockTest, ThreadsCountAlike) {
  const SystemClock clock;
  TickClock ticks(clock);
  int64_t before = ticks.Now();
  for (int i = 0; i < 200; ++i) {
    int64_t there = 0;
    std::thread([&] { there = ticks.Now(); }).join();
    const int64_t after = ticks.Now();
    EXPECT_LE(before, there);
    EXPECT_LE(there, after);
    before = after;
  }
}

TEST(TickClockTest, AnyOtherClockIsRead) {
  MovedClock clock;
  TickClock ticks(clock);
  EXPECT_FALSE(ticks.counts());
  clock.nanos = 1500;
  const int64_t moment = ticks.Now();
  clock.nanos = 9000;
  ticks.End();
  EXPECT_EQ(ticks.begin_nanos(), 1000);
  EXPECT_EQ(ticks.Nanos(moment), 1500);
  EXPECT_EQ(ticks.end_nanos(), 9000);
}

}  // namespace
}  // namespace thalweg
