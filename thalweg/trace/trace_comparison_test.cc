// SPDX-License-Identifier: Apache-2.0
// Two traces compared: what is the same, what is noise, what changed and where.
#include "thalweg/trace/trace_comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "thalweg/trace/test_step.h"

namespace thalweg {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// A value that goes from ps to worker and arrives then; y of it takes so long.
TestStep Delivered(int64_t arrives, int64_t takes, int64_t begin = 0) {
  TestStep step;
  step.Node(kPs, "v", "Const", begin, begin + 100);
  step.Received(kPs, kWorker, "v", begin + 10, begin + arrives, 160'000);
  step.Node(kWorker, "y", "MatMul(v/_1)", begin + arrives, begin + arrives + takes);
  return step;
}

std::unique_ptr<Trace> Steps(const std::vector<TestStep>& steps) {
  auto trace = std::make_unique<Trace>();
  StepStatsReader reader(trace.get());
  for (const TestStep& step : steps) EXPECT_TRUE(reader.Add("step.pb", step.Bytes()).ok());
  EXPECT_TRUE(FinishTrace(trace.get()).ok());
  return trace;
}

// One step for each time that y takes, a second apart.
std::unique_ptr<Trace> StepsOf(std::initializer_list<int64_t> times) {
  std::vector<TestStep> steps;
  int64_t begin = 0;
  for (const int64_t time : times) {
    steps.push_back(Delivered(110, time, begin));
    begin += 1'000'000;
  }
  return Steps(steps);
}

const NodeChange& ChangeOf(const TraceComparison& comparison, const std::string& node) {
  for (const NodeChange& change : comparison.nodes) {
    if (change.node == node) return change;
  }
  ADD_FAILURE() << "not of both: " << node;
  return comparison.nodes.front();
}

TEST(TraceComparisonTest, TheSameTraceTwiceHasNoDifference) {
  const auto trace = Delivered(5150, 1000).Finished();
  const TraceComparison comparison = Compare(*trace, *trace);
  EXPECT_EQ(comparison.sentence, "A step takes as long as before: 6.15 ms.");
  EXPECT_EQ(comparison.time.size, ChangeSize::kNone);
  EXPECT_THAT(comparison.nodes, SizeIs(3));
  for (const NodeChange& node : comparison.nodes) {
    EXPECT_EQ(node.time.size, ChangeSize::kNone) << node.node;
    EXPECT_EQ(node.path.size, ChangeSize::kNone) << node.node;
  }
  for (const StallChange& stall : comparison.stalls)
    EXPECT_EQ(stall.lost.size, ChangeSize::kNone) << stall.sentence;
  EXPECT_THAT(comparison.only_before, IsEmpty());
  EXPECT_THAT(comparison.only_after, IsEmpty());
}

TEST(TraceComparisonTest, AStallThatIsGoneAndWhereTheTimeWent) {
  const auto late = Delivered(5150, 1000).Finished(), soon = Delivered(110, 1000).Finished();
  const TraceComparison comparison = Compare(*late, *soon);
  EXPECT_THAT(comparison.sentence, HasSubstr("takes 5.04 ms less: 1.11 ms instead of 6.15 ms"));
  EXPECT_THAT(comparison.sentence, HasSubstr("Most of it: v (RecvTensor) on " + kWorker));
  ASSERT_THAT(comparison.stalls, testing::Not(IsEmpty()));
  const StallChange& stall = comparison.stalls.front();
  EXPECT_EQ(stall.kind, StallKind::kCommunication);
  EXPECT_EQ(stall.steps_before, 1u);
  EXPECT_EQ(stall.steps_after, 0u);
  EXPECT_EQ(stall.lost.difference(), -5'050'000);
  EXPECT_EQ(stall.lost.size, ChangeSize::kUnknown) << "one step a side tells nothing of noise";
  EXPECT_THAT(stall.sentence, HasSubstr("160 kB"));
  const TimeChange& way = comparison.where[static_cast<size_t>(PathKind::kTransfer)];
  EXPECT_EQ(way.before.median - way.after.median, 5'040'000);
  // Seen from the other side it came.
  const TraceComparison back = Compare(*soon, *late);
  EXPECT_THAT(back.sentence, HasSubstr("takes 5.04 ms longer"));
  EXPECT_EQ(back.stalls.front().steps_before, 0u);
  EXPECT_EQ(back.nodes.front().node, "v") << "what takes longer comes first";
  EXPECT_THAT(ComparisonJson(*soon, *late, back), HasSubstr(R"("state": "came")"));
}

TEST(TraceComparisonTest, OfSeveralStepsTheMedianCountsAndTheirSpreadIsNoise) {
  const auto quiet = StepsOf({1000, 1010, 990, 1020, 5000});  // a slow one now and then
  const auto within = StepsOf({1015, 1005, 1012, 1018, 1009});
  const TraceComparison noise = Compare(*quiet, *within);
  EXPECT_EQ(noise.time.before.median, 1'120'000);
  EXPECT_EQ(noise.time.after.median, 1'122'000);
  EXPECT_EQ(noise.time.size, ChangeSize::kNoise);
  EXPECT_THAT(noise.sentence, HasSubstr("noise"));
  EXPECT_EQ(ChangeOf(noise, "y").time.size, ChangeSize::kNoise);
  const auto slower = StepsOf({1100, 1090, 1110});
  const TraceComparison real = Compare(*quiet, *slower);
  EXPECT_EQ(real.time.difference(), 90'000);
  EXPECT_EQ(real.time.size, ChangeSize::kReal);
  EXPECT_EQ(ChangeOf(real, "y").time.size, ChangeSize::kReal);
  EXPECT_EQ(ChangeOf(real, "v").time.size, ChangeSize::kNone);
}

TEST(TraceComparisonTest, ExecutionsOfAStepAreSummed) {
  TestStep once = Delivered(110, 1000), loop = Delivered(110, 1000);
  once.Node(kWorker, "while/add", "Add", 1200, 1210);
  for (int i = 0; i < 3; ++i) loop.Node(kWorker, "while/add", "Add", 1200 + 20 * i, 1210 + 20 * i);
  const auto before = once.Finished(), after = loop.Finished();
  const TraceComparison comparison = Compare(*before, *after);
  const NodeChange& change = ChangeOf(comparison, "while/add");
  EXPECT_EQ(change.calls_before, 1);
  EXPECT_EQ(change.calls_after, 3);
  EXPECT_EQ(change.time.difference(), 20'000);
}

TEST(TraceComparisonTest, NodesOfOneSideAndNodesElsewhere) {
  TestStep first = Delivered(110, 1000), second = Delivered(110, 1000);
  first.Node(kPs, "moves", "Add", 200, 250).Node(kPs, "old", "Mul", 250, 290);
  second.Node(kWorker, "moves", "Add", 1200, 1220).Node(kPs, "new", "Sub", 250, 270);
  // What is there twice could be either.
  first.Node(kPs, "both", "Add", 300, 301);
  second.Node(CpuOf("a", 0), "both", "Add", 300, 301).Node(CpuOf("b", 0), "both", "Add", 300, 301);
  const auto before = first.Finished(), after = second.Finished();
  const TraceComparison comparison = Compare(*before, *after);
  const NodeChange& moved = ChangeOf(comparison, "moves");
  EXPECT_EQ(moved.device_before, kPs);
  EXPECT_EQ(moved.device, kWorker);
  EXPECT_EQ(moved.time.difference(), -30'000);
  const auto names = [](const std::vector<NodeChange>& changes) {
    std::vector<std::string> found;
    for (const NodeChange& change : changes) found.push_back(change.node);
    return found;
  };
  EXPECT_THAT(names(comparison.only_before), ElementsAre("old", "both"));
  EXPECT_THAT(names(comparison.only_after), ElementsAre("new", "both", "both"));
}

// A graph with another node has other numbers in the keys of its transfers.
TEST(TraceComparisonTest, TransfersAreMatchedWithoutTheirNumbers) {
  const auto numbered = [](const std::string& number) {
    TestStep step;
    step.Node(kPs, "v", "Const", 0, 100);
    return step
        .Node(kWorker, "RecvTensor",
              "[8B] [1Mb/s] edge_" + number + "_v from " + kPs + " to " + kWorker, 10, 110)
        .Finished();
  };
  const auto before = numbered("3"), after = numbered("14");
  const TraceComparison comparison = Compare(*before, *after);
  EXPECT_THAT(comparison.only_before, IsEmpty());
  EXPECT_THAT(comparison.only_after, IsEmpty());
  EXPECT_EQ(ChangeOf(comparison, "v").time.size, ChangeSize::kNone);
}

TEST(TraceComparisonTest, NoDamagedByteHarms) {
  const auto whole = Delivered(5150, 1000).Finished();
  const std::string bytes = Delivered(110, 1000).Bytes();
  size_t read = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 0xff);
    Trace trace;
    if (!StepStatsReader(&trace).Add("damaged.pb", damaged).ok()) continue;
    ++read;
    ASSERT_TRUE(FinishTrace(&trace).ok());
    ComparisonJson(*whole, trace, Compare(*whole, trace));
    ComparisonJson(trace, *whole, Compare(trace, *whole));
  }
  EXPECT_GT(read, bytes.size() / 2);
}

TEST(TraceComparisonTest, MediansAndMiddleHalves) {
  const auto middle = [](std::vector<int64_t> values) {
    const StepMiddle found = MiddleOf(std::move(values));
    return std::vector<int64_t>{found.low, found.median, found.high};
  };
  EXPECT_THAT(middle({}), ElementsAre(0, 0, 0));
  EXPECT_THAT(middle({7}), ElementsAre(7, 7, 7));
  EXPECT_THAT(middle({9, 5}), ElementsAre(5, 7, 9));
  EXPECT_THAT(middle({1, 100, 3, 2, 4}), ElementsAre(2, 3, 4));
}

}  // namespace
}  // namespace thalweg
