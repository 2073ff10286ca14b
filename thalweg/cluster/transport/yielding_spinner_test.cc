// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/transport/yielding_spinner.h"

#include <gtest/gtest.h>

namespace thalweg {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

struct YieldCostsTest : testing::Test {
  void Yield(std::chrono::nanoseconds cost) {
    costs.Note(now, now + cost);
    now += cost;
  }
  bool PausesFor(std::chrono::nanoseconds time) const {
    return costs.pausing(now + time - microseconds(1)) && !costs.pausing(now + time);
  }
  Clock::TimePoint now = Clock::TimePoint() + std::chrono::hours(1);
  YieldCosts costs;
};

TEST_F(YieldCostsTest, CheapYieldsGoOn) {
  EXPECT_FALSE(costs.pausing(now));
  for (int i = 0; i < 1000; ++i) Yield(YieldCosts::kExpensive - microseconds(1));
  EXPECT_FALSE(costs.pausing(now));
}

TEST_F(YieldCostsTest, ADearYieldIsFollowedByAPauseTwiceAsLongEachTime) {
  for (const int pause : {10, 20, 40, 80, 160, 320, 640, 1000, 1000}) {
    Yield(YieldCosts::kExpensive);
    EXPECT_TRUE(PausesFor(milliseconds(pause))) << pause;
    now += milliseconds(pause);
  }
}

TEST_F(YieldCostsTest, ACheapYieldMakesTheNextPauseShort) {
  for (int i = 0; i < 4; ++i) Yield(milliseconds(3));
  now += YieldCosts::kMostPause;
  Yield(microseconds(5));
  EXPECT_FALSE(costs.pausing(now));
  Yield(milliseconds(3));
  EXPECT_TRUE(PausesFor(YieldCosts::kFirstPause));
}

}  // namespace
}  // namespace thalweg
