// SPDX-License-Identifier: Apache-2.0
// A dead, stuck or cut-off task is noticed in time, and nobody else is blamed (users A1, A2).
#include "thalweg/cluster/health/heartbeat_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace thalweg {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr const char* kPs = "/job:ps/replica:0/task:0";
constexpr const char* kWorker = "/job:worker/replica:0/task:1";

class HeartbeatTableTest : public ::testing::Test {
 protected:
  void SetUp() override { table_.OpenSession("s", {kPs, kWorker}, now_); }
  void HeartbeatPayload(const char* task, uint64_t incarnation = 1,
                        std::vector<StepReport> steps = {}, uint64_t all = 0) {
    thalweg::HeartbeatPayload beat;
    beat.memory = {123'000'000, 150'000'000};
    beat.steps = std::move(steps);
    beat.progress = all;
    table_.Answered(task, incarnation, std::move(beat), now_);
  }
  // Both tasks answer while the time passes.
  void Pass(std::chrono::milliseconds span, const std::vector<StepReport>& steps = {}) {
    for (const auto end = now_ + span; now_ < end;) {
      now_ += 250ms;
      HeartbeatPayload(kPs, 1, steps);
      HeartbeatPayload(kWorker);
    }
  }
  HeartbeatTable::TimePoint now_{std::chrono::hours(1)};
  HeartbeatTable table_{HealthOptions{}};
};

TEST_F(HeartbeatTableTest, AsksOftenWhileAStepRuns) {
  EXPECT_THAT(table_.TakeDue(now_), SizeIs(2));
  EXPECT_THAT(table_.TakeDue(now_ + 10s), SizeIs(0));  // not twice at once
  HeartbeatPayload(kPs);
  HeartbeatPayload(kWorker);
  EXPECT_THAT(table_.TakeDue(now_ + 900ms), SizeIs(0));
  const uint64_t step = table_.BeginStep(7, {kPs}, now_);
  const std::vector<HeartbeatTable::Due> due = table_.TakeDue(now_ + 250ms);
  ASSERT_THAT(due, SizeIs(1));
  EXPECT_EQ(due[0].task, kPs);
  EXPECT_THAT(due[0].sessions, testing::ElementsAre("s"));
  table_.EndStep(step);
  table_.CloseSession("s");
  EXPECT_TRUE(table_.idle());
}

TEST_F(HeartbeatTableTest, ASilentTaskEndsItsStepsOnceAndNoOthers) {
  HeartbeatPayload(kPs, 1, {{.id = 7, .progress = 1, .text = "waiting: QueueDequeueV2 'take'"}});
  HeartbeatPayload(kWorker);
  const uint64_t lost = table_.BeginStep(7, {kPs}, now_);
  table_.BeginStep(8, {kWorker}, now_);
  now_ += 2999ms;
  HeartbeatPayload(kWorker);
  EXPECT_THAT(table_.Judge(now_), SizeIs(0));
  now_ += 1ms;
  const std::vector<HeartbeatTable::Verdict> verdicts = table_.Judge(now_);
  ASSERT_THAT(verdicts, SizeIs(1));
  EXPECT_EQ(verdicts[0].ticket, lost);
  EXPECT_EQ(verdicts[0].why.code(), Code::kUnavailable);
  EXPECT_THAT(verdicts[0].why.message(),
              AllOf(HasSubstr(kPs), HasSubstr("3.0 s"), HasSubstr("123 MB resident, peak 150 MB"),
                    HasSubstr("step 7: waiting: QueueDequeueV2 'take'")));
  EXPECT_THAT(table_.Judge(now_ + 1s), SizeIs(0));
}

TEST_F(HeartbeatTableTest, AStepThatBeginsAfterASilenceHasTheWholeLimit) {
  HeartbeatPayload(kPs);
  now_ += 10s;
  table_.BeginStep(7, {kPs}, now_);
  EXPECT_THAT(table_.Judge(now_ + 2s), SizeIs(0));
  EXPECT_THAT(table_.Judge(now_ + 3s), SizeIs(1));
}

TEST_F(HeartbeatTableTest, AnotherIncarnationEndsTheStep) {
  HeartbeatPayload(kPs, 5);
  table_.BeginStep(7, {kPs}, now_);
  EXPECT_THAT(table_.Judge(now_), SizeIs(0));
  HeartbeatPayload(kPs, 6);
  const std::vector<HeartbeatTable::Verdict> verdicts = table_.Judge(now_);
  ASSERT_THAT(verdicts, SizeIs(1));
  EXPECT_EQ(verdicts[0].why.code(), Code::kAborted);
  EXPECT_THAT(verdicts[0].why.message(), HasSubstr("restarted"));
}

TEST_F(HeartbeatTableTest, AStepInWhichNothingMovesIsStuck) {
  HeartbeatPayload(kPs);
  HeartbeatPayload(kWorker);
  table_.BeginStep(7, {kPs, kWorker}, now_);
  StepReport report{.id = 7, .progress = 1, .text = "waiting: QueueDequeueV2 'take'"};
  Pass(250ms, {report});
  EXPECT_THAT(table_.Judge(now_), SizeIs(0));
  Pass(59s, {report});
  report.progress = 2;  // a node ended
  Pass(250ms, {report});
  EXPECT_THAT(table_.Judge(now_), SizeIs(0));
  Pass(59s, {report});
  EXPECT_THAT(table_.Judge(now_), SizeIs(0));
  Pass(2s, {report});
  const std::vector<HeartbeatTable::Verdict> verdicts = table_.Judge(now_);
  ASSERT_THAT(verdicts, SizeIs(1));
  EXPECT_EQ(verdicts[0].why.code(), Code::kDeadlineExceeded);
  EXPECT_THAT(verdicts[0].why.message(),
              AllOf(HasSubstr("stuck"), HasSubstr("ps/replica:0/task:0: waiting: QueueDequeueV2"),
                    HasSubstr("worker/replica:0/task:1: has nothing of the step")));
}

TEST_F(HeartbeatTableTest, AQueueFedByAnotherStepIsWaitingNotStuck) {
  HeartbeatPayload(kPs);
  table_.BeginStep(7, {kPs}, now_);
  for (int i = 0; i < 1000; ++i) {
    now_ += 250ms;
    HeartbeatPayload(kPs, 1, {{.id = 7, .progress = 1, .waits_outside = true}},
                     static_cast<uint64_t>(i / 40));
    EXPECT_THAT(table_.Judge(now_), SizeIs(0));
  }
}

TEST_F(HeartbeatTableTest, ATaskThatTellsNothingIsNotStuck) {
  table_.Answered(kPs, 1, std::nullopt, now_);
  table_.BeginStep(7, {kPs}, now_);
  for (int i = 0; i < 1000; ++i) {
    now_ += 250ms;
    table_.Answered(kPs, 1, std::nullopt, now_);
    EXPECT_THAT(table_.Judge(now_), SizeIs(0));
  }
}

TEST_F(HeartbeatTableTest, WhoWasAwayBlamesNobody) {
  HeartbeatPayload(kPs);
  table_.BeginStep(7, {kPs}, now_);
  now_ += 100s;
  table_.Excuse(now_, 100s);
  EXPECT_THAT(table_.Judge(now_), SizeIs(0));
  EXPECT_THAT(table_.Judge(now_ + 3s), SizeIs(1));
}

// Who is late again and again still finds what is lost: only the time away does not count.
TEST_F(HeartbeatTableTest, WhoIsAwayOftenFindsTheLost) {
  HeartbeatPayload(kPs);
  table_.BeginStep(7, {kPs}, now_);
  for (int i = 0; i < 3; ++i) {
    now_ += 500ms;
    EXPECT_THAT(table_.Judge(now_), SizeIs(0));
    now_ += 2s;
    table_.Excuse(now_, 2s);
  }
  EXPECT_THAT(table_.Judge(now_ + 2s), SizeIs(1));
}

// Users A11: a task killed for memory is told from one that crashed.
TEST(HeartbeatTableMemoryTest, SaysThatATaskWasKilledForMemory) {
  uint64_t killed = 3;
  HeartbeatTable table(HealthOptions{}, [&] { return killed; });
  HeartbeatTable::TimePoint now(1h);
  table.OpenSession("s", {kPs}, now);
  HeartbeatPayload beat;
  beat.process = {OwnIdentity().machine, 4'000'000'000, 1};  // there is no such process
  table.Answered(kPs, 1, beat, now);
  table.BeginStep(7, {kPs}, now);
  EXPECT_THAT(table.Judge(now + 3s)[0].why.message(),
              AllOf(HasSubstr("has ended"), HasSubstr("killed nothing for want of memory"),
                    testing::Not(HasSubstr("killed for memory"))));
  table.BeginStep(8, {kPs}, now);
  killed = 4;
  EXPECT_THAT(table.Judge(now + 4s)[0].why.message(), HasSubstr("killed for memory"));
}

TEST(HeartbeatTableMemoryTest, StepsAfterStepsCountTheKilledNowAndThen) {
  int counted = 0;
  HeartbeatTable table(HealthOptions{}, [&] { return static_cast<uint64_t>(++counted); });
  HeartbeatTable::TimePoint now(1h);
  for (int i = 0; i < 1000; ++i) table.EndStep(table.BeginStep(i, {kPs}, now += 1ms));
  EXPECT_EQ(counted, 10);
}

TEST(HealthOptionsTest, SaysWhatIsWrong) {
  EXPECT_TRUE(HealthOptions().Validate().ok());
  EXPECT_THAT(HealthOptions{.lost_after = 10ms}.Validate().message(), HasSubstr("100 ms"));
  EXPECT_FALSE(HealthOptions{.stuck_after = -1ms}.Validate().ok());
  EXPECT_FALSE(HealthOptions{.early_for = 0ms}.Validate().ok());
}

}  // namespace
}  // namespace thalweg
