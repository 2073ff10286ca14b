// SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/tuner.h"

#include <gtest/gtest.h>

namespace thalweg {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr AllocatorStats kRoom = {.bytes_in_use = 0, .limit = int64_t{1} << 30};

// A user who is away for `use` between elements, each of which takes one call of each stage.
struct Stage {
  TunedCallsPtr calls;
  Tuner::Time time;
  int64_t bytes = 8;
};
void Elapse(Tuner& tuner, const std::vector<Stage>& stages, Tuner::Time use,
            const AllocatorStats& memory = kRoom, int periods = 1) {
  for (int i = 0; i < periods * Tuner::kPeriod; ++i) {
    for (const Stage& stage : stages) stage.calls->Took(stage.time, stage.bytes);
    tuner.Used(use, memory);
  }
}

TEST(TunerTest, BeginsWithAllThreadsAndChoosesAfterAPeriod) {
  Tuner tuner(8);
  EXPECT_FALSE(tuner.is_on());
  const TunedCallsPtr calls = tuner.Add();
  EXPECT_TRUE(tuner.is_on());
  EXPECT_EQ(calls->most(), 8);
  for (int i = 0; i + 1 < Tuner::kPeriod; ++i) {
    calls->Took(milliseconds(1), 8);
    tuner.Used(milliseconds(10), kRoom);
  }
  EXPECT_EQ(calls->most(), 8);
  tuner.Used(milliseconds(10), kRoom);
  EXPECT_EQ(calls->most(), 1);
}

// An element takes 4 ms to make and 2 ms to use: two calls keep up, and a slack of a quarter.
TEST(TunerTest, MakesElementsAsFastAsTheyAreUsed) {
  Tuner tuner(16);
  const TunedCallsPtr calls = tuner.Add();
  Elapse(tuner, {{calls, milliseconds(4)}}, milliseconds(2));
  EXPECT_EQ(calls->most(), 3);
  Elapse(tuner, {{calls, milliseconds(4)}}, microseconds(500), kRoom, 10);
  EXPECT_EQ(calls->most(), 10);
  Elapse(tuner, {{calls, milliseconds(4)}}, milliseconds(8), kRoom, 10);
  EXPECT_EQ(calls->most(), 1);
}

// Nobody waits for a user who takes no time: the threads are shared as the work is.
TEST(TunerTest, SharesThreadsByTheWorkOfStages) {
  Tuner tuner(8);
  const TunedCallsPtr light = tuner.Add(), heavy = tuner.Add();
  Elapse(tuner, {{light, milliseconds(1)}, {heavy, milliseconds(7)}}, milliseconds(0));
  EXPECT_EQ(light->most(), 2);  // 1.25 of 8 threads' eighth
  EXPECT_EQ(heavy->most(), 8);
}

TEST(TunerTest, CountsCallsOfAStageThatMakesManyElementsOfOneOfThePass) {
  Tuner tuner(8);
  const TunedCallsPtr before_batch = tuner.Add();
  for (int i = 0; i < Tuner::kPeriod; ++i) {
    for (int row = 0; row < 32; ++row) before_batch->Took(microseconds(100), 8);
    tuner.Used(milliseconds(1), kRoom);
  }
  EXPECT_EQ(before_batch->most(), 4);  // 3.2 ms of work for 1 ms of use
}

TEST(TunerTest, StaysBelowTheMemoryLimit) {
  Tuner tuner(8);
  const TunedCallsPtr calls = tuner.Add();
  const AllocatorStats megabyte = {.limit = 1 << 20};
  Elapse(tuner, {{calls, milliseconds(1), 100 << 10}}, milliseconds(0), megabyte);
  EXPECT_EQ(calls->most(), 2);  // a quarter of it
  const AllocatorStats crowded = {.bytes_in_use = 1000 << 10, .limit = 1 << 20};
  Elapse(tuner, {{calls, milliseconds(1), 8}}, milliseconds(0), crowded);
  EXPECT_EQ(calls->most(), 1);
  Elapse(tuner, {{calls, milliseconds(1), 8}}, milliseconds(0), megabyte, 20);
  EXPECT_EQ(calls->most(), 8);
}

TEST(TunerTest, StagesThatAreGoneCountNoMore) {
  Tuner tuner(8);
  const TunedCallsPtr stays = tuner.Add();
  TunedCallsPtr goes = tuner.Add();
  Elapse(tuner, {{stays, milliseconds(1)}, {goes, milliseconds(7)}}, milliseconds(0));
  EXPECT_EQ(stays->most(), 2);
  goes.reset();
  Elapse(tuner, {{stays, milliseconds(1)}}, milliseconds(0));
  EXPECT_EQ(stays->most(), 8);
}

TEST(TunerTest, AStageThatHasMadeNothingKeepsWhatItHas) {
  Tuner tuner(8);
  const TunedCallsPtr calls = tuner.Add();
  Elapse(tuner, {}, milliseconds(0));
  EXPECT_EQ(calls->most(), 8);
}

}  // namespace
}  // namespace thalweg
