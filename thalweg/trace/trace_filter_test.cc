// SPDX-License-Identifier: Apache-2.0
#include "thalweg/trace/trace_filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thalweg/trace/critical_path.h"
#include "thalweg/trace/lost_processor.h"
#include "thalweg/trace/memory_use.h"
#include "thalweg/trace/test_memory_step.h"
#include "thalweg/trace/test_step.h"
#include "thalweg/trace/trace_page.h"
#include "thalweg/trace/trace_summary.h"

namespace thalweg {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::unique_ptr<Trace> TwoTasks() {
  TestStep step;
  step.Node(kPs, "v", "Const", 0, 10).Received(kPs, kWorker, "v", 5, 50);
  step.Node(kWorker, "layer1/y", "MatMul", 55, 90).Node(kWorker, "layer2/z", "Mul", 92, 93);
  return step.Finished();
}

std::vector<std::string> NamesOf(const Trace& trace) {
  std::vector<std::string> names;
  for (const TraceSpan& span : trace.spans) names.push_back(trace.NameOf(span));
  return names;
}

// What the filter leaves, which can be analyzed and drawn.
std::vector<std::string> Left(const TraceFilter& filter) {
  const auto trace = TwoTasks();
  const Status filtered = FilterTrace(filter, trace.get());
  EXPECT_TRUE(filtered.ok()) << filtered.ToString();
  EXPECT_EQ(trace->steps.front().last, trace->spans.size());
  EXPECT_FALSE(SummaryJson(*trace, Summarize(*trace, 0)).empty());
  EXPECT_THAT(TracePage(*trace), HasSubstr("</html>"));
  return NamesOf(*trace);
}

TEST(TraceFilterTest, TasksNodesTimesAndAll) {
  EXPECT_THAT(Left({}), ElementsAre("v", "RecvTensor", "layer1/y", "layer2/z"));
  for (const char* task :
       {"worker", "worker/0", "/job:worker", "w*", "/job:worker/replica:0/task:0"}) {
    EXPECT_THAT(Left({.tasks = {task}}), ElementsAre("RecvTensor", "layer1/y", "layer2/z"));
  }
  EXPECT_THAT(Left({.tasks = {"ps", "nobody"}}), ElementsAre("v"));
  EXPECT_THAT(Left({.nodes = {"layer?/*"}}), ElementsAre("layer1/y", "layer2/z"));
  EXPECT_THAT(Left({.nodes = {"v", "edge_*"}}), ElementsAre("v", "RecvTensor"));
  EXPECT_THAT(Left({.min_nanos = 35'000}), ElementsAre("RecvTensor", "layer1/y"));
  EXPECT_THAT(Left({.min_bytes = 1}), ElementsAre("RecvTensor"));
  EXPECT_THAT(Left({.from_nanos = 50'000, .to_nanos = 92'000}),
              ElementsAre("RecvTensor", "layer1/y"));
  EXPECT_THAT(Left({.tasks = {"worker"}, .nodes = {"layer*"}, .min_nanos = 2000}),
              ElementsAre("layer1/y"));
}

TEST(TraceFilterTest, TransfersAndNotesOfWhatIsLeft) {
  auto trace = TwoTasks();
  ASSERT_EQ(trace->transfers.size(), 1u);
  ASSERT_TRUE(FilterTrace({.tasks = {"worker"}}, trace.get()).ok());
  ASSERT_EQ(trace->transfers.size(), 1u);
  EXPECT_EQ(trace->transfers[0].sender, -1);
  EXPECT_EQ(trace->transfers[0].receiver, 0);
  EXPECT_EQ(trace->transfers[0].sent, 10'000);
  EXPECT_THAT(trace->notes.back(), HasSubstr("left 3 of 4 nodes and transfers, in 1 of 1 step."));
  trace = TwoTasks();
  ASSERT_TRUE(FilterTrace({.tasks = {"ps"}}, trace.get()).ok());
  EXPECT_TRUE(trace->transfers.empty());
}

TEST(TraceFilterTest, NothingLeftIsAnError) {
  auto trace = TwoTasks();
  const Status none = FilterTrace({.nodes = {"nobody"}}, trace.get());
  EXPECT_EQ(none.code(), Code::kInvalidArgument);
  EXPECT_THAT(std::string(none.message()),
              HasSubstr("none of 4 nodes and transfers of the tasks "
                        "/job:ps/replica:0/task:0, /job:worker/replica:0/task:0"));
  trace = TwoTasks();
  const Status backward = FilterTrace({.from_nanos = 20, .to_nanos = 10}, trace.get());
  EXPECT_THAT(std::string(backward.message()), HasSubstr("found one from 20 ns to 10 ns"));
}

// Their step has another number when those before it are gone.
TEST(TraceFilterTest, SwitchesGoWithTheirStep) {
  TestStep early, late;
  early.Node(kWorker, "early", "MatMul", 0, 1000).NoProcessor(100, 400, true);
  late.Node(kWorker, "late", "MatMul", 5000, 6000).NoProcessor(100, 500, true);
  late.Node(kPs, "beside", "MatMul", 5000, 5900).NoProcessor(300, 10, true);
  Trace trace;
  StepStatsReader reader(&trace);
  ASSERT_TRUE(reader.Add("early.pb", early.Bytes()).ok());
  ASSERT_TRUE(reader.Add("late.pb", late.Bytes()).ok());
  ASSERT_TRUE(FinishTrace(&trace).ok());
  ASSERT_EQ(trace.switches.size(), 3u);
  ASSERT_TRUE(FilterTrace({.tasks = {"worker"}, .nodes = {"late"}}, &trace).ok());
  ASSERT_EQ(trace.switches.size(), 1u);
  const std::vector<LostProcessor> lost = LostProcessors(trace, 0, CriticalPath(trace, 0));
  ASSERT_EQ(lost.size(), 1u);
  EXPECT_EQ(lost[0].nanos, 500'000);
}

TEST(TraceFilterTest, WhoHeldMemoryIsToldAllTheSame) {
  TestMemoryStep step;
  step.Node("y", "MatMul", 10, 20).Came(11, 400).Output(400, 400, 71);
  step.Node("z", "Mul", 90, 100).Came(91, 30).Output(30, 30, 72);
  const auto trace = step.Finished();
  ASSERT_TRUE(FilterTrace({.from_nanos = 50'000}, trace.get()).ok());
  EXPECT_THAT(NamesOf(*trace), ElementsAre("z"));
  ASSERT_EQ(MemoryOfStep(*trace, 0).size(), 1u);
  EXPECT_EQ(MemoryOfStep(*trace, 0)[0].peak_bytes, 430);
}

TEST(TraceFilterTest, AValueLivesUntilAReaderThatIsTakenAway) {
  const auto end_of_x = [](const TraceFilter& filter) {
    TestMemoryStep step;
    step.Node("x", "Add", 0, 10).Output(64, 64, 80);
    step.Node("y", "Add", 10, 60).Output(64, 64, 81);
    step.Node("silent", "NoMemory", 60, 90).Node("last", "Add", 90, 100).Output(64, 64, 82);
    step.Graph("y", "Add", {"x"}, "", 0);
    step.Graph("silent", "NoMemory", {"x"}, "", 0);
    const auto trace = step.Finished();
    EXPECT_TRUE(FilterTrace(filter, trace.get()).ok());
    const MemoryUse use = MemoryOfStep(*trace, 0).at(0);
    EXPECT_TRUE(use.inferred);
    EXPECT_EQ(trace->texts[use.blocks.at(0).name], "x");
    return use.blocks[0].end;
  };
  EXPECT_EQ(end_of_x({}), 90'000);
  EXPECT_EQ(end_of_x({.nodes = {"last"}}), 90'000);
  EXPECT_EQ(end_of_x({.min_bytes = 1}), 90'000);
}

}  // namespace
}  // namespace thalweg
