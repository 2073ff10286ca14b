// SPDX-License-Identifier: Apache-2.0
// What traces are made of, and what is not one.
#include "thalweg/trace/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thalweg/base/file_system.h"
#include "thalweg/base/test_temporary_directory.h"
#include "thalweg/proto/wire_fields.h"
#include "thalweg/trace/chrome_trace.h"
#include "thalweg/trace/critical_path.h"
#include "thalweg/trace/test_step.h"
#include "thalweg/trace/trace_reader.h"
#include "thalweg/trace/trace_summary.h"

namespace thalweg {
namespace {

using ::testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> PathOf(const Trace& trace) {
  std::vector<std::string> names;
  for (const PathPart& part : CriticalPath(trace, 0)) {
    if (part.kind == PathKind::kQueue || part.kind == PathKind::kStart) continue;
    names.push_back(part.kind == PathKind::kTransfer ? "transfer"
                                                     : trace.NameOf(trace.spans[part.span]));
  }
  return names;
}

Status AddBytes(std::string_view bytes) {
  Trace trace;
  return StepStatsReader(&trace).Add("file.pb", bytes);
}

// Of so many bytes that parts of it have gone before the rest is read.
TEST(TraceTest, DevicesAndTasksOfANameAreOne) {
  Trace trace;
  const std::vector<std::string> names = {"/job:a/task:0/device:CPU:0",
                                          "/job:a/task:0/device:GPU:0",
                                          "/job:b/task:0/device:CPU:0", "CPU:0", "GPU:0"};
  for (int round = 0; round < 2; ++round) {
    for (uint32_t i = 0; i < names.size(); ++i) EXPECT_EQ(trace.AddDevice(names[i]), i);
  }
  ASSERT_EQ(trace.devices.size(), names.size());
  for (uint32_t i = 0; i < names.size(); ++i) EXPECT_EQ(trace.devices[i].name, names[i]);
  ASSERT_EQ(trace.tasks.size(), 3u);
  EXPECT_EQ(trace.TaskOf(0), "/job:a/task:0");
  EXPECT_EQ(trace.TaskOf(1), "/job:a/task:0");
  EXPECT_EQ(trace.TaskOf(2), "/job:b/task:0");
  EXPECT_EQ(trace.TaskOf(3), "");
  EXPECT_EQ(trace.TaskOf(4), "");
}

TEST(TraceTest, ALargeFileIsReadAsASmallOne) {
  constexpr int kNodes = 600'000, kDevices = 3;
  std::string stats;
  for (const char* const name : {"/device:CPU:0", "/device:CPU:1", "/device:CPU:2"}) {
    std::string device, node, label(60, 'x');
    AddWireText(pb::DeviceStepStats::kDevice, name, &device);
    for (int i = 0; i < kNodes / kDevices; ++i) {
      node.clear();
      AddWireText(pb::NodeExecStats::kNodeName, "n", &node);
      AddWireInt(pb::NodeExecStats::kAllStartMicros, 1000 + i, &node);
      AddWireInt(pb::NodeExecStats::kAllEndRelMicros, 1, &node);
      AddWireText(pb::NodeExecStats::kTimelineLabel, label, &node);
      AddWireText(pb::DeviceStepStats::kNodeStats, node, &device);
    }
    AddWireText(pb::StepStats::kDevStats, device, &stats);
  }
  std::string bytes;
  AddWireText(pb::RunMetadata::kStepStats, stats, &bytes);
  ASSERT_GT(bytes.size(), size_t{40} << 20);
  PosixFileSystem fs;
  const TemporaryDirectory folder;
  ASSERT_TRUE(WriteFileAtomically(fs, folder.Path("step.pb"), bytes).ok());
  const auto trace = ReadTrace(fs, {folder.Path("step.pb")});
  ASSERT_TRUE(trace.ok()) << trace.status().ToString();
  ASSERT_EQ((*trace)->spans.size(), static_cast<size_t>(kNodes));
  for (size_t i = 0; i < kNodes; ++i) {
    const TraceSpan& span = (*trace)->spans[i];
    ASSERT_EQ(span.start, static_cast<int64_t>(i / kDevices) * 1000) << i;
    ASSERT_EQ(span.device, i % kDevices) << i;
  }
  // One that ends too early is told of as ever.
  ASSERT_TRUE(WriteFileAtomically(fs, folder.Path("step.pb"), bytes.substr(0, 1 << 20)).ok());
  const auto cut = ReadTrace(fs, {folder.Path("step.pb")});
  ASSERT_TRUE(cut.ok()) << cut.status().ToString();
  EXPECT_THAT((*cut)->notes, testing::Contains(HasSubstr("is cut off or damaged")));
}

TEST(TraceTest, ReadsLabelsAsBothWriteThem) {
  TestStep step;
  step.Node(kPs, "m", "[cpu 0.3MB 0.3MB] m = MatMul(a/_1, ^b)", 10, 30, 5)
      .Node(kPs, "c", "Const", 0, 1);
  const auto trace = step.Finished();
  const TraceSpan& span = SpanOf(*trace, "m");
  EXPECT_EQ(trace->OpOf(span), "MatMul");
  EXPECT_EQ(span.start, 10'000);
  EXPECT_EQ(span.end, 30'000);
  EXPECT_EQ(span.scheduled, 5'000);
  const NodeFacts* facts = trace->FactsOf(span.device, span.name);
  ASSERT_NE(facts, nullptr);
  ASSERT_EQ(facts->inputs.size(), 2u);
  EXPECT_EQ(trace->texts[facts->inputs[0]], "a/_1");
  EXPECT_EQ(trace->texts[facts->inputs[1]], "b");
  EXPECT_EQ(trace->TaskOf(span.device), "/job:ps/replica:0/task:0");
}

TEST(TraceTest, LanesDoNotOverlapAndReceivesHaveTheirOwn) {
  TestStep step;
  step.Node(kPs, "a", "Add", 0, 10).Node(kPs, "b", "Add", 5, 15).Node(kPs, "c", "Add", 10, 20);
  step.Node(kPs, "r", "_Recv", 0, 20).Node(kPs, "t", "Add", 0, 20, -1, 7);
  const auto trace = step.Finished();
  EXPECT_EQ(SpanOf(*trace, "a").lane, SpanOf(*trace, "c").lane);
  EXPECT_NE(SpanOf(*trace, "a").lane, SpanOf(*trace, "b").lane);
  EXPECT_EQ(trace->devices[0].lanes, 3u);
  EXPECT_EQ(trace->devices[0].receive_lanes, 1u);
  EXPECT_EQ(SpanOf(*trace, "r").lane, 3u);
  EXPECT_EQ(SpanOf(*trace, "t").lane, 2u);
}

// Two partitions: v of ps, y = f(v) of worker, with Send and Recv that left spans (ours) or not.
TestStep TwoPartitions(bool with_spans) {
  TestStep step;
  step.Node(kPs, "v", "Const", 0, 10).Node(kPs, "late", "Const", 0, 100);
  step.Node(kWorker, "y", "MatMul", 50, 90);
  if (with_spans) step.Node(kPs, "v/send", "_Send", 10, 12).Node(kWorker, "v/recv", "_Recv", 0, 50);
  if (!with_spans) step.Received(kPs, kWorker, "v", 0, 50);
  step.GraphNode(0, "v", "Const", {});
  step.Key(step.GraphNode(0, "v/send", "_Send", {"v:0"}), "edge_3_v", kPs, kWorker);
  step.Key(step.GraphNode(1, "v/recv", "_Recv", {}), "edge_3_v", kPs, kWorker);
  step.GraphNode(1, "y", "MatMul", {"v/recv", "v/recv"});
  step.Node(kWorker, "end", "Add", 90, 120).GraphNode(1, "end", "Add", {"y"});
  return step;
}

TEST(TraceTest, TheCriticalPathCrossesTasks) {
  for (const bool with_spans : {true, false}) {
    const auto trace = TwoPartitions(with_spans).Finished();
    ASSERT_EQ(trace->transfers.size(), 1u);
    EXPECT_EQ(trace->transfers[0].sent, 10'000);
    EXPECT_EQ(trace->transfers[0].arrived, 50'000);
    EXPECT_THAT(PathOf(*trace), testing::ElementsAre("v", "transfer", "y", "end")) << with_spans;
  }
}

TEST(TraceTest, ThePathCoversTheStepWithoutGraphsToo) {
  TestStep step;
  step.Node(kPs, "a", "Add", 0, 10).Node(kPs, "b", "Add", 12, 20).Node(kPs, "short", "Add", 1, 5);
  step.Node(kPs, "zero", "NoOp", 20, 20).Node(kPs, "zeros", "NoOp", 20, 20);
  const auto trace = step.Finished();
  const std::vector<PathPart> path = CriticalPath(*trace, 0);
  ASSERT_FALSE(path.empty());
  EXPECT_EQ(path.front().begin, 0);
  EXPECT_EQ(path.back().end, 20'000);
  for (size_t i = 1; i < path.size(); ++i) EXPECT_EQ(path[i].begin, path[i - 1].end);
  EXPECT_THAT(PathOf(*trace), testing::ElementsAre("a", "b"));
}

// A node that waits for nothing was ready as soon as its task had begun.
TEST(TraceTest, ANodeWithoutInputsThatBeginsLateWasReady) {
  TestStep step;
  step.Node(kPs, "a", "Const", 5, 50).Node(kPs, "b", "Const", 50, 60);
  for (const char* name : {"a", "b"}) step.GraphNode(0, name, "Const", {});
  const auto trace = step.Finished();
  const std::vector<PathPart> path = CriticalPath(*trace, 0);
  ASSERT_EQ(path.size(), 2u);
  EXPECT_EQ(path[0].kind, PathKind::kQueue);
  EXPECT_EQ(path[0].end - path[0].begin, 45'000);
  EXPECT_EQ(path[1].kind, PathKind::kNode);
}

// Messages both ways that take 10 us, and a clock of worker that is ahead.
TestStep ClocksApart(int64_t ahead) {
  TestStep step;
  step.Node(kPs, "v", "Const", 0, 100).Node(kWorker, "y", "Add", 110 + ahead, 200 + ahead);
  step.Node(kPs, "z", "Add", 210, 300);
  step.Received(kPs, kWorker, "v", 0 + ahead, 110 + ahead).Received(kWorker, kPs, "y", 0, 210);
  return step;
}

TEST(TraceTest, ClocksAreAlignedByMessagesBothWays) {
  for (const int64_t ahead : {5000, -7000, 3}) {
    const auto trace = ClocksApart(ahead).Finished();
    ASSERT_EQ(trace->tasks.size(), 2u);
    const TraceTask& worker = trace->tasks[1];
    EXPECT_EQ(worker.offset_nanos, ahead == 3 ? 0 : -ahead * 1000) << "what messages allow stays";
    EXPECT_EQ(worker.error_nanos, ahead == 3 ? 13'000 : 10'000);
    EXPECT_LE(SpanOf(*trace, "v").end, SpanOf(*trace, "y").start);
    EXPECT_LE(SpanOf(*trace, "y").end, SpanOf(*trace, "z").start);
    EXPECT_THAT(trace->notes, IsEmpty());
  }
}

TEST(TraceTest, ClocksThatJumpAreNoted) {
  TestStep step = ClocksApart(5000);
  step.Node(kPs, "w", "Const", 300, 310).Received(kPs, kWorker, "w", 300, 312);  // jumped back
  EXPECT_THAT(step.Finished()->notes, testing::Contains(HasSubstr("drifted apart or jumped")));
  TestStep hours;
  hours.Node(kPs, "a", "Add", 0, 10).Node(kPs, "b", "Add", 3'600'000'000, 3'600'000'010);
  EXPECT_THAT(hours.Finished()->notes,
              testing::Contains(HasSubstr("Nothing ran for 3600 s before b")));
  TestStep back;
  back.Node(kPs, "a", "Add", 0, 10).Node(kPs, "b", "Add", 20, 5);
  const auto trace = back.Finished();
  EXPECT_THAT(trace->notes, testing::Contains(HasSubstr("1 nodes end before they start")));
  EXPECT_EQ(SpanOf(*trace, "b").end, 20'000);
}

TEST(TraceTest, TasksWithoutMessagesAreNoted) {
  TestStep step;
  step.Node(kPs, "a", "Add", 0, 10).Node(kWorker, "b", "Add", 0, 10);
  EXPECT_THAT(step.Finished()->notes, testing::Contains(HasSubstr("no values went between")));
}

TEST(TraceTest, WhatIsNoTraceIsRefusedPlainly) {
  EXPECT_THAT(AddBytes("").message(),
              HasSubstr("file.pb: expected a RunMetadata message, found no bytes"));
  EXPECT_THAT(AddBytes("\x7f"
                       "ELF\x02\x01\x01")
                  .message(),
              HasSubstr("file.pb: expected a RunMetadata"));
  EXPECT_THAT(AddBytes(std::string(1000, '\xff')).message(), HasSubstr("expected a RunMetadata"));
  OwnedMessage untraced(pb::RunMetadata::Descriptor());
  untraced->Add(pb::RunMetadata::kPartitionGraphs)->Add(pb::GraphDef::kNode);
  EXPECT_THAT(AddBytes(Serialize(*untraced).value()).message(), HasSubstr("FULL_TRACE"));
}

TEST(TraceTest, WhatIsCutOffIsReadAsFarAsItGoes) {
  const std::string bytes = TwoPartitions(true).Bytes();
  size_t read = 0;
  for (size_t size = 0; size < bytes.size(); ++size) {
    Trace trace;
    if (!StepStatsReader(&trace).Add("cut.pb", std::string_view(bytes).substr(0, size)).ok())
      continue;
    ++read;
    ASSERT_TRUE(FinishTrace(&trace).ok());
    SummaryJson(trace, Summarize(trace, 0));
  }
  EXPECT_GT(read, bytes.size() / 2);
  Trace trace;
  ASSERT_TRUE(StepStatsReader(&trace).Add("cut.pb", std::string_view(bytes).substr(0, 200)).ok());
  EXPECT_THAT(trace.notes, testing::Contains(HasSubstr("cut.pb is cut off or damaged")));
}

TEST(TraceTest, NoDamagedByteHarms) {
  const std::string bytes = TwoPartitions(false).Bytes();
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (const unsigned char flip : {0x01, 0x80, 0xff}) {
      std::string damaged = bytes;
      damaged[i] = static_cast<char>(damaged[i] ^ flip);
      Trace trace;
      if (!StepStatsReader(&trace).Add("damaged.pb", damaged).ok()) continue;
      ASSERT_TRUE(FinishTrace(&trace).ok());
      SummaryJson(trace, Summarize(trace, 0));
      ChromeTrace(trace);
    }
  }
}

TEST(TraceTest, FilesAreStepsAndThoseThatOverlapAreOne) {
  const auto step_at = [](int64_t at, const std::string& device) {
    return TestStep().Node(device, "n" + std::to_string(at), "Add", at, at + 10).Bytes();
  };
  Trace trace;
  StepStatsReader reader(&trace);
  ASSERT_TRUE(reader.Add("2", step_at(100, kPs)).ok());
  ASSERT_TRUE(reader.Add("1", step_at(0, kPs)).ok());
  ASSERT_TRUE(reader.Add("1b", step_at(5, kWorker)).ok());
  ASSERT_TRUE(FinishTrace(&trace).ok());
  ASSERT_EQ(trace.steps.size(), 2u);
  EXPECT_EQ(trace.steps[0].last - trace.steps[0].first, 2u);
  EXPECT_EQ(trace.NameOf(trace.spans[0]), "n0");
  EXPECT_EQ(SlowestStep(trace), 0u);
}

TEST(TraceTest, ChromeEventsHaveFlows) {
  const std::string json = ChromeTrace(*TwoPartitions(true).Finished());
  EXPECT_THAT(json, HasSubstr(R"("name": "MatMul")"));
  EXPECT_THAT(json, HasSubstr(R"("ph": "s")"));
  EXPECT_THAT(json, HasSubstr(R"("ts": 50.000)"));
}

}  // namespace
}  // namespace thalweg
