// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/steps/worker_step_state.h"

#include <gtest/gtest.h>

namespace thalweg {
namespace {

using namespace std::chrono_literals;
using enum StepReaction::Kind;

constexpr uint32_t kMasterNumber = 5;
constexpr uint64_t kLedgerIncarnation = 11;
constexpr uint64_t Id(uint64_t number) { return MakeStep(kMasterNumber, number); }

class WorkerStepStateTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(worker_state_.AddMaster(kMasterNumber).ok()); }
  StepReaction Start(uint64_t number, StepTime now = 0s, StepTime left = 0s) {
    return worker_state_.Start(
        {.step = Id(number), .incarnation = kLedgerIncarnation, .time_left = left.count()},
        kLedgerIncarnation, now);
  }
  void Run(uint64_t number) {
    ASSERT_EQ(Start(number).kind, kPrepare);
    ASSERT_EQ(worker_state_.Begin(Id(number)).kind, kRun);
  }
  WorkerStepState worker_state_{
      {.early_life = 30s, .most_early_steps = 3, .most_early_bytes = 100}};
};

TEST_F(WorkerStepStateTest, AStepRunsOnceAndIsAnsweredOnce) {
  Run(1);
  EXPECT_EQ(Start(1).kind, kNothing);
  const StepReaction answer = worker_state_.Ended(Id(1), OkStatus());
  EXPECT_EQ(answer.kind, kAnswer);
  EXPECT_TRUE(answer.status.ok());
  EXPECT_EQ(Start(1).status.code(), Code::kAborted);
  EXPECT_EQ(worker_state_.tombstones(), 1U);
  EXPECT_TRUE(worker_state_.Forget(kMasterNumber, 2).empty());
  EXPECT_EQ(worker_state_.tombstones(), 0U);
  EXPECT_EQ(Start(1).status.code(), Code::kAborted);
}

TEST_F(WorkerStepStateTest, ATensorMayComeBeforeStart) {
  EXPECT_EQ(worker_state_.Tensor(Id(1), 8, 0s).kind, kKeep);
  EXPECT_EQ(worker_state_.open_steps(), 1U);
  Run(1);
  EXPECT_EQ(worker_state_.Tensor(Id(1), 8, 0s).kind, kKeep);
  // Its time was that of early tensors, not of the step.
  EXPECT_TRUE(worker_state_.Expire(31s).empty());
}

TEST_F(WorkerStepStateTest, WhoDroppedATensorRefusesStart) {
  EXPECT_EQ(worker_state_.Tensor(Id(1), 8, 0s).kind, kKeep);
  EXPECT_TRUE(worker_state_.Expire(29s).empty());
  const std::vector<StepReaction> late = worker_state_.Expire(30s);
  ASSERT_EQ(late.size(), 1U);
  EXPECT_EQ(late[0].kind, kDrop);
  const StepReaction start = Start(1);
  EXPECT_EQ(start.kind, kAnswer);
  EXPECT_EQ(start.status.code(), Code::kAborted);
}

TEST_F(WorkerStepStateTest, EarlyTensorsAreBounded) {
  EXPECT_EQ(worker_state_.Tensor(Id(1), 60, 0s).kind, kKeep);
  EXPECT_EQ(worker_state_.Tensor(Id(2), 60, 0s).kind, kDrop);
  EXPECT_EQ(Start(2).status.code(), Code::kAborted);
  EXPECT_EQ(worker_state_.Tensor(Id(3), 1, 0s).kind, kKeep);
  EXPECT_EQ(worker_state_.Tensor(Id(4), 1, 0s).kind, kKeep);
  EXPECT_EQ(worker_state_.Tensor(Id(5), 1, 0s).kind, kDrop);
  // What ran or is over does not count.
  Run(1);
  EXPECT_EQ(worker_state_.Tensor(Id(6), 60, 0s).kind, kKeep);
}

TEST_F(WorkerStepStateTest, ACancelEndsAStepInEveryState) {
  EXPECT_EQ(worker_state_.Cancel(Id(1), Cancelled("stop")).kind, kNothing);
  EXPECT_EQ(Start(1).status.code(), Code::kAborted);

  EXPECT_EQ(worker_state_.Tensor(Id(2), 8, 0s).kind, kKeep);
  EXPECT_EQ(worker_state_.Cancel(Id(2), Cancelled("stop")).kind, kDrop);
  EXPECT_EQ(Start(2).status.code(), Code::kAborted);

  // Behind START and before the step runs: nothing runs.
  ASSERT_EQ(Start(3).kind, kPrepare);
  EXPECT_EQ(worker_state_.Cancel(Id(3), Cancelled("stop")).kind, kNothing);
  const StepReaction begun = worker_state_.Begin(Id(3));
  EXPECT_EQ(begun.kind, kAnswer);
  EXPECT_EQ(begun.status.code(), Code::kCancelled);
  EXPECT_TRUE(begun.derived);

  Run(4);
  EXPECT_EQ(worker_state_.Cancel(Id(4), Cancelled("stop")).kind, kAbort);
  EXPECT_EQ(worker_state_.Cancel(Id(4), Cancelled("again")).kind, kNothing);
  EXPECT_EQ(worker_state_.Tensor(Id(4), 8, 0s).kind, kDrop);
  const StepReaction ended = worker_state_.Ended(Id(4), Internal("a kernel that was disturbed"));
  EXPECT_EQ(ended.status.message(), "stop");
  EXPECT_TRUE(ended.derived);
  EXPECT_EQ(worker_state_.open_steps(), 0U);
}

// A master that was silent, and comes back.
TEST_F(WorkerStepStateTest, AMasterWhoseStepsWereEndedMayStartOthers) {
  EXPECT_EQ(worker_state_.Tensor(Id(1), 8, 0s).kind, kKeep);
  Run(2);
  ASSERT_EQ(Start(3).kind, kPrepare);
  const std::vector<StepReaction> todo = worker_state_.CancelAll(kMasterNumber, Aborted("silent"));
  ASSERT_EQ(todo.size(), 2U);
  EXPECT_EQ(todo[0].kind, kDrop);
  EXPECT_EQ(todo[1].kind, kAbort);
  EXPECT_EQ(Start(1).status.code(), Code::kAborted);  // of which something was dropped
  EXPECT_EQ(worker_state_.Ended(Id(2), OkStatus()).status.message(), "silent");
  EXPECT_EQ(worker_state_.Begin(Id(3)).status.message(), "silent");
  Run(4);
  EXPECT_TRUE(worker_state_.CancelAll(kMasterNumber + 1, Aborted("silent")).empty());
}

TEST_F(WorkerStepStateTest, AStepHasATimerOfItsOwn) {
  ASSERT_EQ(Start(1, 10s, 5s).kind, kPrepare);
  ASSERT_EQ(worker_state_.Begin(Id(1)).kind, kRun);
  EXPECT_TRUE(worker_state_.Expire(14s).empty());
  const std::vector<StepReaction> late = worker_state_.Expire(15s);
  ASSERT_EQ(late.size(), 1U);
  EXPECT_EQ(late[0].kind, kAbort);
  EXPECT_EQ(late[0].status.code(), Code::kDeadlineExceeded);
  EXPECT_TRUE(worker_state_.Expire(16s).empty());
  EXPECT_EQ(worker_state_.Ended(Id(1), OkStatus()).status.code(), Code::kDeadlineExceeded);
}

TEST_F(WorkerStepStateTest, AnotherIncarnationAndAnUnknownMasterAreRefused) {
  const StepReaction restarted = worker_state_.Start(
      {.step = Id(1), .incarnation = kLedgerIncarnation + 1}, kLedgerIncarnation, 0s);
  EXPECT_EQ(restarted.kind, kAnswer);
  EXPECT_EQ(restarted.status.code(), Code::kAborted);
  const uint64_t unknown = MakeStep(kMasterNumber + 1, 1);
  EXPECT_EQ(worker_state_.Tensor(unknown, 8, 0s).kind, kDrop);
  EXPECT_EQ(worker_state_.Cancel(unknown, Cancelled("stop")).kind, kNothing);
  EXPECT_EQ(worker_state_
                .Start({.step = unknown, .incarnation = kLedgerIncarnation}, kLedgerIncarnation, 0s)
                .status.code(),
            Code::kAborted);
  EXPECT_EQ(worker_state_.AddMaster(kMasterNumber).code(), Code::kAlreadyExists);
}

TEST_F(WorkerStepStateTest, TheStepsOfAMasterThatLeavesEnd) {
  EXPECT_EQ(worker_state_.Tensor(Id(1), 8, 0s).kind, kKeep);
  Run(2);
  ASSERT_EQ(Start(3).kind, kPrepare);
  const std::vector<StepReaction> todo =
      worker_state_.RemoveMaster(kMasterNumber, Unavailable("it is lost"));
  ASSERT_EQ(todo.size(), 2U);
  EXPECT_EQ(todo[0].kind, kDrop);
  EXPECT_EQ(todo[1].kind, kAbort);
  EXPECT_EQ(worker_state_.Begin(Id(3)).kind, kDrop);
  EXPECT_EQ(worker_state_.Ended(Id(2), OkStatus()).kind, kDrop);
  EXPECT_EQ(worker_state_.open_steps(), 0U);
  EXPECT_EQ(worker_state_.tombstones(), 0U);
  ASSERT_TRUE(worker_state_.AddMaster(kMasterNumber).ok());
  EXPECT_EQ(worker_state_.Tensor(Id(4), 100, 0s).kind, kKeep);  // nothing early is left
}

TEST_F(WorkerStepStateTest, StepsThatAreOverAreForgotten) {
  EXPECT_EQ(worker_state_.Tensor(Id(1), 8, 0s).kind, kKeep);
  Run(2);
  worker_state_.Cancel(Id(3), Cancelled("stop"));
  const std::vector<StepReaction> todo = worker_state_.Forget(kMasterNumber, 4);
  ASSERT_EQ(todo.size(), 1U);
  EXPECT_EQ(todo[0].step, Id(1));
  EXPECT_EQ(worker_state_.open_steps(), 1U);  // what runs is awaited
  EXPECT_EQ(worker_state_.tombstones(), 0U);
  worker_state_.Ended(Id(2), OkStatus());
  EXPECT_EQ(worker_state_.open_steps() + worker_state_.tombstones(), 0U);
  EXPECT_EQ(worker_state_.Tensor(Id(3), 8, 0s).kind, kDrop);
}

}  // namespace
}  // namespace thalweg
