// SPDX-License-Identifier: Apache-2.0
// Each kind of stall, in a step that has it and in one that does not.
#include "thalweg/trace/stalls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thalweg/trace/test_step.h"

namespace thalweg {
namespace {

std::vector<Stall> StallsOf(const TestStep& step) {
  const auto trace = step.Finished();
  return FindStalls(*trace, 0, CriticalPath(*trace, 0));
}

std::vector<Stall> OfKind(const std::vector<Stall>& stalls, StallKind kind) {
  std::vector<Stall> found;
  for (const Stall& stall : stalls) {
    if (stall.kind == kind) found.push_back(stall);
  }
  return found;
}

// A value that is sent at 100 us, and arrives when told.
TestStep OneTransfer(int64_t arrived) {
  TestStep step;
  step.Node(kPs, "v", "Const", 0, 100).Node(kWorker, "y", "MatMul", arrived, arrived + 1000);
  step.Received(kPs, kWorker, "v", 5, arrived, 160'000);
  return step;
}

TEST(StallsTest, ARecvThatWaitsForWhatWasSent) {
  const std::vector<Stall> stalls = StallsOf(OneTransfer(5100));
  ASSERT_FALSE(stalls.empty());
  EXPECT_EQ(stalls[0].kind, StallKind::kCommunication);
  EXPECT_EQ(stalls[0].lost, 5'000'000);
  EXPECT_THAT(stalls[0].sentence, testing::HasSubstr(kWorker + " waited 5.00 ms"));
  EXPECT_THAT(stalls[0].sentence, testing::HasSubstr("160 kB"));
  EXPECT_THAT(stalls[0].sentence, testing::HasSubstr(kPs + " had sent already"));
  EXPECT_TRUE(OfKind(StallsOf(OneTransfer(115)), StallKind::kCommunication).empty());
}

TEST(StallsTest, ARecvCostsNothingWhileItsDeviceComputes) {
  TestStep step = OneTransfer(5100);
  step.Node(kWorker, "other", "MatMul", 50, 5100);
  EXPECT_TRUE(OfKind(StallsOf(step), StallKind::kCommunication).empty());
}

TEST(StallsTest, OneTaskOfAJobIsSlower) {
  const auto step_of = [](int64_t slow) {
    TestStep step;
    for (int task = 0; task < 3; ++task) {
      step.Node(CpuOf("worker", task), "gradient" + std::to_string(task), "MatMul", 0,
                task == 1 ? slow : 1000 + task);
    }
    return step;
  };
  const auto found = OfKind(StallsOf(step_of(4000)), StallKind::kStraggler);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].lost, 2'998'000);
  EXPECT_THAT(found[0].sentence,
              testing::HasSubstr("/job:worker/replica:0/task:1 computed for 4.00 ms"));
  EXPECT_THAT(found[0].sentence, testing::HasSubstr("gradient1"));
  EXPECT_TRUE(OfKind(StallsOf(step_of(1100)), StallKind::kStraggler).empty());
}

TEST(StallsTest, NodesThatAreReadyWaitForAThread) {
  const auto step_of = [](int64_t start) {
    TestStep step;
    step.Node(kPs, "first", "MatMul", 0, 1000).Node(kPs, "behind", "MatMul", 0, start, 0, 1);
    step.Node(kPs, "last", "MatMul(first)", start, start + 1000, 1000);
    return step;
  };
  const auto found = OfKind(StallsOf(step_of(4000)), StallKind::kQueueing);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].lost, 3'000'000);
  EXPECT_THAT(found[0].sentence,
              testing::HasSubstr("last longest, 3.00 ms, while other nodes had its threads"));
  EXPECT_TRUE(OfKind(StallsOf(step_of(1010)), StallKind::kQueueing).empty());
}

TEST(StallsTest, NothingRunsButWhoWaitsForInput) {
  const auto step_of = [](int64_t busy) {
    TestStep step;
    step.Node(kPs, "next", "IteratorGetNext", 0, 8000);
    step.Node(kPs, "beside", "MatMul", 0, busy, 0, 1).Node(kPs, "y", "MatMul(next)", 8000, 9000);
    return step;
  };
  const auto found = OfKind(StallsOf(step_of(500)), StallKind::kInput);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].lost, 7'500'000);
  EXPECT_THAT(found[0].sentence, testing::HasSubstr("for input in next (IteratorGetNext)"));
  EXPECT_TRUE(OfKind(StallsOf(step_of(7500)), StallKind::kInput).empty());
}

TEST(StallsTest, WhoFillsAQueueAndWhoEmptiesItWaitInTurn) {
  const auto step_of = [](int64_t put) {
    TestStep step;
    for (int64_t at = 0; at < 4000; at += 1000) {
      step.Node(kPs, "q_enqueue", "QueueEnqueueV2", at, at + put);
      step.Node(kPs, "q_dequeue", "QueueDequeueV2", at + 500, at + 1000, -1, 1);
    }
    return step;
  };
  const auto found = StallsOf(step_of(500));
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].kind, StallKind::kLockStep);
  EXPECT_EQ(found[0].lost, 2'000'000);
  EXPECT_THAT(found[0].sentence, testing::HasSubstr("q_enqueue waited 2.00 ms in 4 calls"));
  EXPECT_TRUE(OfKind(found, StallKind::kInput).empty());
  const auto starved = StallsOf(step_of(1));  // there is always room: the input is slow
  EXPECT_TRUE(OfKind(starved, StallKind::kLockStep).empty());
  EXPECT_EQ(OfKind(starved, StallKind::kInput).size(), 1u);
}

TEST(StallsTest, OneNodeThatTakesTheStep) {
  const auto remedy_of = [](const std::string& op) {
    TestStep step;
    step.Node(kPs, "long", op, 0, 5000);
    for (int i = 0; i < 4; ++i)
      step.Node(kPs, "beside" + std::to_string(i), "Add", 100 * i, 100 * i + 90, -1, 1);
    const auto found = OfKind(StallsOf(step), StallKind::kParallelism);
    return found.empty() ? "" : std::string(found[0].remedy);
  };
  EXPECT_THAT(remedy_of("MatMul"), testing::HasSubstr("smaller products"));
  EXPECT_THAT(remedy_of("PyFunc"), testing::HasSubstr("function of the program's own"));
}

TEST(StallsTest, OneNodeAtATimeThoughThereAreLanes) {
  const auto step_of = [](int beside) {
    TestStep step;
    for (int i = 0; i < 5; ++i) {
      step.Node(kPs, "chain" + std::to_string(i), "MatMul", 1000 * i, 1000 * i + 1000);
      if (i < beside)
        step.Node(kPs, "beside" + std::to_string(i), "Add", 1000 * i, 1000 * i + 900, -1, 1);
    }
    return step;
  };
  const auto found = OfKind(StallsOf(step_of(1)), StallKind::kParallelism);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].sentence, testing::HasSubstr("82 % of the step a single node ran"));
  EXPECT_TRUE(OfKind(StallsOf(step_of(5)), StallKind::kParallelism).empty());
}

TEST(StallsTest, NodesOfThePathHaveNoProcessor) {
  const auto step_of = [](int64_t out, bool is_preempted) {
    TestStep step;
    step.Node(kWorker, "first", "MatMul", 0, 1000);
    step.NoProcessor(100, out, is_preempted);
    step.Node(kWorker, "last", "MatMul(first)", 1000, 2000);
    return step;
  };
  const auto found = OfKind(StallsOf(step_of(500, true)), StallKind::kForeignLoad);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].lost, 500'000);
  EXPECT_EQ(found[0].begin, 100'000);
  EXPECT_EQ(found[0].end, 600'000);
  EXPECT_THAT(found[0].sentence, testing::HasSubstr("for 500 us, 25 % of the step, 1 time, on " +
                                                    kWorker + ", first longest"));
  EXPECT_TRUE(OfKind(StallsOf(step_of(500, false)), StallKind::kForeignLoad).empty());
  EXPECT_TRUE(OfKind(StallsOf(step_of(30, true)), StallKind::kForeignLoad).empty());
}

TEST(StallsTest, ANodeBesideThePathMayLoseItsProcessor) {
  TestStep step;
  step.Node(kWorker, "short", "MatMul", 0, 1000, 0, 1).NoProcessor(100, 500, true);
  step.Node(kWorker, "long", "MatMul", 0, 3000);
  EXPECT_TRUE(OfKind(StallsOf(step), StallKind::kForeignLoad).empty());
}

}  // namespace
}  // namespace thalweg
