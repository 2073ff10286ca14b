// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/master/step_driver.h"

#include <gtest/gtest.h>

namespace thalweg {
namespace {

using namespace std::chrono_literals;

constexpr StepDriver::Time kNever = StepDriver::Time::max();

TEST(StepDriverTest, AStepIsOkWhenEverybodyIsDone) {
  StepDriver driver(2, kNever);
  EXPECT_FALSE(driver.Done(0).closed);
  EXPECT_FALSE(driver.Done(0).closed);  // twice counts once
  EXPECT_TRUE(driver.Done(1).closed);
  EXPECT_TRUE(driver.status().ok());
}

TEST(StepDriverTest, TheFirstFailureCancelsTheOthersOnce) {
  StepDriver driver(3, kNever);
  StepDriver::Reaction todo = driver.Failed(0, Internal("a"), false, 0s);
  EXPECT_TRUE(todo.cancel);
  EXPECT_FALSE(todo.closed);
  EXPECT_FALSE(driver.awaits(0));
  EXPECT_TRUE(driver.awaits(1));
  EXPECT_FALSE(driver.Failed(1, Internal("b"), false, 0s).cancel);
  EXPECT_TRUE(driver.Done(2).closed);
  EXPECT_EQ(driver.status().message(), "a");
}

TEST(StepDriverTest, TheOutcomeIsTheRootCause) {
  StepDriver driver(3, kNever);
  driver.Failed(0, Aborted("a consequence"), true, 0s);
  driver.Failed(1, Internal("the cause"), false, 0s);
  EXPECT_TRUE(driver.Failed(2, Internal("another"), false, 0s).closed);
  EXPECT_EQ(driver.status().message(), "the cause");
}

TEST(StepDriverTest, TheLastToAnswerMayHaveTheCause) {
  StepDriver driver(2, kNever);
  driver.Failed(0, Aborted("a consequence"), true, 0s);
  EXPECT_TRUE(driver.Failed(1, Internal("the cause"), false, 0s).closed);
  EXPECT_EQ(driver.status().message(), "the cause");
}

TEST(StepDriverTest, WhoDoesNotAnswerIsWaitedForASecond) {
  StepDriver driver(2, 5s);
  EXPECT_FALSE(driver.Tick(4s).cancel);
  EXPECT_EQ(driver.next_tick(), 5s);
  EXPECT_TRUE(driver.Tick(5s).cancel);
  EXPECT_EQ(driver.next_tick(), 6s);
  EXPECT_FALSE(driver.Failed(0, Cancelled("as told"), true, 5500ms).closed);
  EXPECT_FALSE(driver.Tick(5999ms).closed);
  EXPECT_TRUE(driver.Tick(6s).closed);
  EXPECT_TRUE(driver.awaits(1));
  EXPECT_FALSE(driver.awaits(0));
  EXPECT_EQ(driver.status().code(), Code::kDeadlineExceeded);
  EXPECT_TRUE(driver.Failed(1, Internal("too late"), false, 7s).closed);
  EXPECT_EQ(driver.status().code(), Code::kDeadlineExceeded);
}

TEST(StepDriverTest, AStepWithoutDeadlineHasNothingToTick) {
  StepDriver driver(1, kNever);
  EXPECT_EQ(driver.next_tick(), kNever);
  EXPECT_FALSE(driver.Tick(1000h).closed);
  EXPECT_TRUE(driver.Stop(Cancelled("the client left"), false, 0s).cancel);
  EXPECT_FALSE(driver.Stop(Cancelled("again"), false, 0s).cancel);
}

TEST(StepDriverTest, NobodyTakesPart) {
  StepDriver driver(0, kNever);
  EXPECT_TRUE(driver.closed());
  EXPECT_TRUE(driver.status().ok());
}

}  // namespace
}  // namespace thalweg
