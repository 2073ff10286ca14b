// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/collectives/step_sequences.h"

#include <gtest/gtest.h>

namespace thalweg {
namespace {

constexpr int64_t kKey = 7;

class StepSequencesTest : public ::testing::Test {
 protected:
  int64_t Begin() {
    const Result<int64_t> id = follower_.Begin(kKey, [this] {
      ++asked_;
      return leader_.Next(kKey);
    });
    EXPECT_TRUE(id.ok()) << id.status().ToString();
    return *id;
  }
  StepSequences leader_{"/job:worker/replica:0/task:0"}, follower_{"/job:worker/replica:0/task:1"};
  int asked_ = 0;
};

TEST_F(StepSequencesTest, StepsOfAllTasksHaveTheSameNumbers) {
  for (int step = 0; step < 5; ++step) {
    const Result<int64_t> first = leader_.Begin(kKey, nullptr);
    ASSERT_TRUE(first.ok());
    EXPECT_EQ(Begin(), *first) << step;
    follower_.End(kKey, *first, true);
    leader_.End(kKey, *first, true);
  }
  EXPECT_EQ(asked_, 1);
}

TEST_F(StepSequencesTest, AFollowerMayComeFirst) {
  const int64_t id = Begin();
  follower_.End(kKey, id, true);
  EXPECT_EQ(*leader_.Begin(kKey, nullptr), id);
  leader_.End(kKey, id, true);
  EXPECT_EQ(Begin(), *leader_.Begin(kKey, nullptr));
}

TEST_F(StepSequencesTest, AFailedStepIsOverForWhoHearsOfItFirst) {
  const int64_t id = *leader_.Begin(kKey, nullptr);
  EXPECT_EQ(Begin(), id);
  follower_.End(kKey, id, false);
  // The leader's step still runs; the follower's next one is not that.
  const int64_t next = Begin();
  EXPECT_EQ(asked_, 2);
  EXPECT_NE(next, id);
  leader_.End(kKey, id, false);
  EXPECT_EQ(*leader_.Begin(kKey, nullptr), next);
}

TEST_F(StepSequencesTest, ANewLeaderCounts) {
  follower_.End(kKey, Begin(), true);
  StepSequences restarted("/job:worker/replica:0/task:0");
  const int64_t lost = Begin();
  follower_.End(kKey, lost, false);
  const auto ask = [&] { return restarted.Next(kKey); };
  EXPECT_EQ(*follower_.Begin(kKey, ask), *restarted.Begin(kKey, nullptr));
}

TEST_F(StepSequencesTest, AStepThatHasFailedElsewhereCountsWhereItHasNotBegun) {
  // The leader fails two steps, while one follower has begun none and another one the first.
  StepSequences late("/job:worker/replica:0/task:2");
  const auto ask = [&] { return leader_.Next(kKey); };
  const int64_t first = *leader_.Begin(kKey, nullptr);
  EXPECT_EQ(Begin(), first);
  leader_.End(kKey, first, false);
  follower_.End(kKey, first, false);
  const int64_t second = *leader_.Begin(kKey, nullptr);
  leader_.End(kKey, second, false);
  for (int word = 0; word < 2; ++word) {  // of two others
    late.NoteFailure(kKey, first, Internal("one"), {});
    late.NoteFailure(kKey, second, Internal("two"), {});
  }
  follower_.NoteFailure(kKey, second, Internal("two"), {});
  EXPECT_EQ(late.Begin(kKey, ask).status().message(), "one");
  EXPECT_EQ(late.Begin(kKey, ask).status().message(), "two");
  EXPECT_EQ(follower_.Begin(kKey, ask).status().message(), "two");
  const int64_t third = *leader_.Begin(kKey, nullptr);
  EXPECT_EQ(*late.Begin(kKey, ask), third);
  EXPECT_EQ(Begin(), third);
}

TEST_F(StepSequencesTest, AStepThatFailsWhileTheLeaderIsAskedIsNotPassedOver) {
  const int64_t first = *leader_.Begin(kKey, nullptr);
  const auto ask = [&] {  // the word of the failure comes before the answer
    follower_.NoteFailure(kKey, first, Internal("bad"), {});
    leader_.End(kKey, first, false);
    return leader_.Next(kKey);
  };
  EXPECT_EQ(follower_.Begin(kKey, ask).status().message(), "bad");
  EXPECT_EQ(Begin(), *leader_.Begin(kKey, nullptr));
}

TEST_F(StepSequencesTest, WhatFailsAsItBeginsFailsOnce) {
  const int64_t id = Begin();
  follower_.NoteFailure(kKey, id, Internal("bad"), {});
  follower_.End(kKey, id, false);
  const int64_t next = Begin();
  EXPECT_EQ(*leader_.Begin(kKey, nullptr), id);
  leader_.End(kKey, id, false);
  EXPECT_EQ(*leader_.Begin(kKey, nullptr), next);
}

TEST_F(StepSequencesTest, TheLeaderFailsWhatHasFailedElsewhere) {
  for (int step = 0; step < 2; ++step) {  // the second before the leader has begun the first
    const int64_t id = Begin();
    follower_.End(kKey, id, false);
    leader_.NoteFailure(kKey, id, Internal("bad"), {});
  }
  for (int step = 0; step < 2; ++step) {
    EXPECT_EQ(leader_.Begin(kKey, nullptr).status().message(), "bad");
  }
  EXPECT_EQ(*leader_.Begin(kKey, nullptr), Begin());
}

TEST_F(StepSequencesTest, WhatHasFailedBeforeASessionWasMadeFailsNothingOfIt) {
  const int64_t id = Begin();
  follower_.End(kKey, id, false);
  leader_.NoteFailure(kKey, id, Internal("bad"), {});
  const Clock::TimePoint later = Clock::TimePoint{} + std::chrono::seconds(1);
  const Result<int64_t> next = leader_.Begin(kKey, nullptr, later);
  ASSERT_TRUE(next.ok()) << next.status().ToString();
  EXPECT_NE(*next, id);
  EXPECT_EQ(Begin(), *next);
}

TEST_F(StepSequencesTest, OneStepOfAKeyAtATime) {
  const int64_t id = Begin();
  const Status twice = follower_.Begin(kKey, [] { return Result<int64_t>(1); }).status();
  EXPECT_EQ(twice.code(), Code::kFailedPrecondition) << twice.ToString();
  EXPECT_TRUE(follower_.Begin(kKey + 1, [] { return Result<int64_t>(1); }).ok());
  follower_.End(kKey, id, true);
  (void)Begin();
}

TEST_F(StepSequencesTest, AnErrorOfTheLeaderLeavesNothing) {
  const Status lost =
      follower_.Begin(kKey, [] { return Result<int64_t>(Unavailable("gone")); }).status();
  EXPECT_EQ(lost.code(), Code::kUnavailable);
  (void)Begin();
}

}  // namespace
}  // namespace thalweg
