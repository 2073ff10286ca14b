// SPDX-License-Identifier: Apache-2.0
// Traces that keep the newest of a step alone.
#include "thalweg/trace/told_part.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thalweg/proto/trace_fields.h"
#include "thalweg/proto/wire_fields.h"
#include "thalweg/trace/chrome_trace.h"
#include "thalweg/trace/perfetto_trace.h"
#include "thalweg/trace/test_memory_step.h"
#include "thalweg/trace/test_step.h"
#include "thalweg/trace/trace_comparison.h"
#include "thalweg/trace/trace_filter.h"
#include "thalweg/trace/trace_summary.h"

namespace thalweg {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

std::vector<std::string> NodesOf(const Trace& trace) {
  std::vector<std::string> names;
  for (const TraceSpan& span : trace.spans) names.push_back(trace.NameOf(span));
  return names;
}

// The worker tells of what ended after 1 ms; the ps of all.
TestStep TwoTasksOneBounded() {
  TestStep step;
  step.Node(kPs, "early", "Add", 0, 300)
      .Node(kPs, "long", "Mul", 100, 1500, 50)
      .NoProcessor(600, 700, true);
  step.Node(kWorker, "y", "MatMul", 1000, 2000);
  step.LeftOut(kWorker, 1000, {{"b", 2000}, {"a", 10'000}, {"c", 5}, {"d", 2}});
  return step;
}

TEST(ToldPartTest, WhatOthersDidBeforeGoesToo) {
  const auto trace = TwoTasksOneBounded().Finished();
  EXPECT_THAT(NodesOf(*trace), ElementsAre("long", "y"));
  const TraceSpan& cut = SpanOf(*trace, "long");
  EXPECT_EQ(cut.start, 1'000'000);
  EXPECT_EQ(cut.scheduled, 1'000'000);
  EXPECT_EQ(cut.end, 1'500'000);
  ASSERT_EQ(trace->steps.size(), 1u);
  EXPECT_EQ(trace->steps[0].begin, 1'000'000);
  EXPECT_EQ(trace->steps[0].end, 2'000'000);
  ASSERT_EQ(trace->switches.size(), 1u);
  EXPECT_EQ(trace->switches[0].begin, 1'000'000);
  EXPECT_EQ(trace->switches[0].end, 1'400'000);
  EXPECT_THAT(trace->notes,
              Contains(AllOf(HasSubstr(kWorker + ": the first 1.00 ms of step 0 are not there, "
                                                 "12,007 executions of nodes, of a (10,000), b "
                                                 "(2,000), c (5) and 1 other node."),
                             Not(HasSubstr("values made then")))));
  // Nobody waits where nothing is told.
  const TraceSummary summary = Summarize(*trace, 0);
  for (const PathPart& part : summary.path) EXPECT_GE(part.begin, 1'000'000);
}

TEST(ToldPartTest, AllFormsSayIt) {
  const auto trace = TwoTasksOneBounded().Finished();
  EXPECT_THAT(SummaryJson(*trace, Summarize(*trace, 0)),
              HasSubstr(R"("left_out": [{"device": "/job:worker/replica:0/task:0/device:CPU:0", )"
                        R"("executions": 12007, "nanos": 1000000, "until_nanos": 1000000, )"
                        R"("nodes": [{"node": "a", "executions": 10000})"));
  EXPECT_THAT(ChromeTrace(*trace), HasSubstr("\"12,007 executions before are not there\""));
  EXPECT_THAT(PerfettoTrace(*trace), HasSubstr("12,007 executions before are not there"));
}

// Files may come in any order, a device has one row.
TEST(ToldPartTest, PerfettosRowOfADeviceHasAllOfItsSteps) {
  Trace trace;
  StepStatsReader reader(&trace);
  for (const int64_t begin : {50'000, 0, 90'000}) {
    TestStep step;
    step.Node(kWorker, "y", "Add", begin + 500, begin + 1000)
        .Node(kPs, "z", "Add", begin, begin + 900);
    step.LeftOut(kWorker, begin + 600, {{"a", begin + 3}}).LeftOut(kPs, begin + 10, {{"b", 2}});
    ASSERT_TRUE(reader.Add("step.pb", step.Bytes()).ok());
  }
  ASSERT_TRUE(FinishTrace(&trace).ok());
  const std::string bytes = PerfettoTrace(trace);
  const auto count = [&](std::string_view text) {
    size_t times = 0;
    for (size_t at = bytes.find(text); at != std::string::npos; at = bytes.find(text, at + 1)) {
      ++times;
    }
    return times;
  };
  EXPECT_EQ(count("left out"), 2u) << "of two devices";
  EXPECT_EQ(count("2 executions before are not there"), 3u);
  const size_t first = bytes.find("3 executions before"), last = bytes.find("90,003 executions");
  EXPECT_LT(first, bytes.find("50,003 executions"));
  EXPECT_LT(bytes.find("50,003 executions"), last);
  EXPECT_NE(last, std::string::npos);
}

TEST(ToldPartTest, AStepThatIsWhollyThereIsLeftAlone) {
  TestStep step;
  step.Node(kPs, "early", "Add", 0, 300);
  const auto trace = step.Finished();
  EXPECT_EQ(LeftOutOf(*trace, 0), nullptr);
  EXPECT_THAT(trace->notes, IsEmpty());
  EXPECT_THAT(SummaryJson(*trace, Summarize(*trace, 0)), HasSubstr(R"("left_out": [])"));
}

TEST(ToldPartTest, MemoryOfThatTimeIsSaidToBeNobodys) {
  TestMemoryStep step;
  step.Node("y", "MatMul", 10, 20).Came(11, 400).Output(400, 400, 71);
  auto trace = step.Finished();
  trace->left_out.push_back({.executions = 7, .until = 5'000});
  CutToTold(trace.get());
  EXPECT_THAT(trace->notes, Contains(HasSubstr("values made then that still live are no node's")));
}

// A step of which one task tells nothing that another knows, too, is shown as it is.
TEST(ToldPartTest, DevicesWithoutATimeInCommon) {
  TestStep step;
  step.Node(kPs, "early", "Add", 0, 300).LeftOut(kWorker, 5000, {{"a", 3}});
  const auto trace = step.Finished();
  EXPECT_THAT(NodesOf(*trace), ElementsAre("early"));
  EXPECT_THAT(trace->notes, Contains(HasSubstr("no time in common")));
}

TEST(ToldPartTest, ItGoesWithItsStepAndTask) {
  TestStep early;
  early.Node(kPs, "first", "Add", 0, 100);
  Trace trace;
  StepStatsReader reader(&trace);
  TestStep late;
  late.Node(kPs, "long", "Mul", 100'100, 101'500).Node(kWorker, "y", "Add", 101'000, 102'000);
  late.LeftOut(kWorker, 101'000, {{"a", 3}});
  ASSERT_TRUE(reader.Add("late.pb", late.Bytes()).ok());
  ASSERT_TRUE(reader.Add("early.pb", early.Bytes()).ok());
  ASSERT_TRUE(FinishTrace(&trace).ok());
  EXPECT_EQ(LeftOutOf(trace, 0), nullptr);
  ASSERT_NE(LeftOutOf(trace, 1), nullptr);
  ASSERT_TRUE(FilterTrace({.nodes = {"y"}}, &trace).ok());
  ASSERT_NE(LeftOutOf(trace, 0), nullptr);
  EXPECT_EQ(LeftOutOf(trace, 0)->until, 101'000'000);
}

TEST(ToldPartTest, WhatIsComparedWithItIsSaidToBeParts) {
  const auto part = TwoTasksOneBounded().Finished();
  const auto whole = TestStep().Node(kPs, "early", "Add", 0, 3000).Finished();
  EXPECT_THAT(Compare(*whole, *part).sentence,
              StartsWith("Parts of steps are compared: the beginning is not there of 1 of 1 after. "
                         "A step takes "));
  EXPECT_THAT(Compare(*part, *part).sentence,
              StartsWith("Parts of steps are compared: the beginning is not there of 1 of 1 before "
                         "and of 1 of 1 after. A step takes as long"));
  EXPECT_THAT(Compare(*whole, *whole).sentence, StartsWith("A step takes as long"));
}

TEST(ToldPartTest, OfWhichNothingIsKeptIsAnErrorThatSaysSo) {
  Trace trace;
  StepStatsReader reader(&trace);
  const Status read = reader.Add("x.pb", TestStep().LeftOut(kPs, 100, {{"a", 1234}}).Bytes());
  EXPECT_THAT(std::string(read.message()),
              HasSubstr("x.pb: expected times of nodes, found none but that the first 1,234 "
                        "executions of a device are not there"));
}

// A file of them makes no memory full of sentences.
TEST(ToldPartTest, MoreThanAnyRecordingWritesAreNotRead) {
  constexpr size_t kMost = 100'000;
  std::string one, all, device;
  AddWireInt(left_out_fields::kTransfers, 1, &one);
  AddWireInt(left_out_fields::kUntilNanos, 1, &one);
  AddWireText(pb::DeviceStepStats::kDevice, kPs, &device);
  for (size_t i = 0; i < kMost + 7; ++i) AddWireText(kLeftOutField, one, &device);
  AddWireText(pb::StepStats::kDevStats, device, &all);
  std::string bytes = TestStep().Node(kPs, "x", "Add", 0, 300).Bytes();
  AddWireText(pb::RunMetadata::kStepStats, all, &bytes);
  Trace trace;
  StepStatsReader reader(&trace);
  ASSERT_TRUE(reader.Add("x.pb", bytes).ok());
  EXPECT_EQ(trace.left_out.size(), kMost);
  EXPECT_THAT(trace.notes, Contains(HasSubstr("7 entries without a readable")));
}

// Numbers that nobody writes.
TEST(ToldPartTest, BadNumbersAreEntriesThatCannotBeRead) {
  for (const int64_t count : {int64_t{-1}, int64_t{0}, INT64_MAX}) {
    TestStep step;
    step.Node(kPs, "x", "Add", 0, 300).LeftOut(kPs, 100, {{"a", count}});
    const auto trace = step.Finished();
    EXPECT_THAT(trace->left_out, IsEmpty());
    EXPECT_THAT(trace->notes, ElementsAre(HasSubstr("1 entries without a readable")));
  }
  TestStep step;
  step.Node(kPs, "x", "Add", 0, 300).LeftOut(kPs, INT64_MIN / 1000, {{"a", 1}});
  EXPECT_THAT(step.Finished()->left_out, IsEmpty());
}

}  // namespace
}  // namespace thalweg
