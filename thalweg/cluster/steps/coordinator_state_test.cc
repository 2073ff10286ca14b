// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/steps/coordinator_state.h"

#include <gtest/gtest.h>

namespace thalweg {
namespace {

using namespace std::chrono_literals;

constexpr StepTime kNever = StepTime::max();

TEST(CoordinatorStateTest, AStepIsOkWhenEverybodyIsDone) {
  CoordinatorState coordinator(2, kNever);
  EXPECT_FALSE(coordinator.Done(0).closed);
  EXPECT_FALSE(coordinator.Done(0).closed);  // twice counts once
  EXPECT_TRUE(coordinator.Done(1).closed);
  EXPECT_TRUE(coordinator.status().ok());
}

TEST(CoordinatorStateTest, TheFirstFailureCancelsTheOthersOnce) {
  CoordinatorState coordinator(3, kNever);
  CoordinatorState::Reaction todo = coordinator.Failed(0, Internal("a"), false, 0s);
  EXPECT_TRUE(todo.cancel);
  EXPECT_FALSE(todo.closed);
  EXPECT_FALSE(coordinator.awaits(0));
  EXPECT_TRUE(coordinator.awaits(1));
  EXPECT_FALSE(coordinator.Failed(1, Internal("b"), false, 0s).cancel);
  EXPECT_TRUE(coordinator.Done(2).closed);
  EXPECT_EQ(coordinator.status().message(), "a");
}

TEST(CoordinatorStateTest, TheOutcomeIsTheRootCause) {
  CoordinatorState coordinator(3, kNever);
  coordinator.Failed(0, Aborted("a consequence"), true, 0s);
  coordinator.Failed(1, Internal("the cause"), false, 0s);
  EXPECT_TRUE(coordinator.Failed(2, Internal("another"), false, 0s).closed);
  EXPECT_EQ(coordinator.status().message(), "the cause");
}

TEST(CoordinatorStateTest, TheLastToAnswerMayHaveTheCause) {
  CoordinatorState coordinator(2, kNever);
  coordinator.Failed(0, Aborted("a consequence"), true, 0s);
  EXPECT_TRUE(coordinator.Failed(1, Internal("the cause"), false, 0s).closed);
  EXPECT_EQ(coordinator.status().message(), "the cause");
}

TEST(CoordinatorStateTest, WhoDoesNotAnswerIsWaitedForASecond) {
  CoordinatorState coordinator(2, 5s);
  EXPECT_FALSE(coordinator.Tick(4s).cancel);
  EXPECT_EQ(coordinator.next_tick(), 5s);
  EXPECT_TRUE(coordinator.Tick(5s).cancel);
  EXPECT_EQ(coordinator.next_tick(), 6s);
  EXPECT_FALSE(coordinator.Failed(0, Cancelled("as told"), true, 5500ms).closed);
  EXPECT_FALSE(coordinator.Tick(5999ms).closed);
  EXPECT_TRUE(coordinator.Tick(6s).closed);
  EXPECT_TRUE(coordinator.awaits(1));
  EXPECT_FALSE(coordinator.awaits(0));
  EXPECT_EQ(coordinator.status().code(), Code::kDeadlineExceeded);
  EXPECT_TRUE(coordinator.Failed(1, Internal("too late"), false, 7s).closed);
  EXPECT_EQ(coordinator.status().code(), Code::kDeadlineExceeded);
}

TEST(CoordinatorStateTest, AStepWithoutDeadlineHasNothingToTick) {
  CoordinatorState coordinator(1, kNever);
  EXPECT_EQ(coordinator.next_tick(), kNever);
  EXPECT_FALSE(coordinator.Tick(1000h).closed);
  EXPECT_TRUE(coordinator.Stop(Cancelled("the client left"), false, 0s).cancel);
  EXPECT_FALSE(coordinator.Stop(Cancelled("again"), false, 0s).cancel);
}

TEST(CoordinatorStateTest, NobodyTakesPart) {
  CoordinatorState coordinator(0, kNever);
  EXPECT_TRUE(coordinator.closed());
  EXPECT_TRUE(coordinator.status().ok());
}

}  // namespace
}  // namespace thalweg
