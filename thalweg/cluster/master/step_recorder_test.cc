// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/master/step_recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thalweg/base/thread.h"
#include "thalweg/testing/fake_clock.h"

namespace thalweg {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)

class StepRecorderTest : public ::testing::Test {
 protected:
  // Somebody who records, on a thread of his own.
  struct Listener {
    Result<Recording> got = Internal("it has not ended");
    CancellationManager leaves;
    Thread thread;
  };
  std::unique_ptr<Listener> Listen(const RecordRequest& request) {
    auto listener = std::make_unique<Listener>();
    const size_t before = recorder_.num_listeners();
    listener->thread = Thread("listener", [this, request, raw = listener.get()] {
      raw->got = recorder_.Record(request, &raw->leaves);
    });
    const auto until = std::chrono::steady_clock::now() + 60s;
    while (recorder_.num_listeners() == before && std::chrono::steady_clock::now() < until) {
      std::this_thread::yield();
    }
    return listener;
  }
  static Result<Recording> Got(Listener& listener) {
    listener.thread.Join();
    return std::move(listener.got);
  }

  // A step that takes so long and ends so; gives whether it was traced.
  bool Step(std::chrono::nanoseconds takes, const Status& ends, const char* fetch = "x:0",
            const char* session = "s", size_t bytes = 10) {
    RunOptions options;
    const std::vector<std::string> fetches{fetch};
    RecordedRun run(recorder_, session, {.fetches = fetches}, &options, nullptr);
    const bool is_traced = options.trace == TraceLevel::kFull;
    EXPECT_EQ(run.metadata() != nullptr, is_traced);
    EXPECT_EQ(options.is_watched, is_traced);
    EXPECT_EQ(options.partition_graphs, is_traced);
    if (is_traced) {
      run.metadata()->step_stats.step_id = ++seen_;
      run.metadata()->step_stats.traces = {{"/device:CPU:0", {}}};
      run.metadata()->step_stats.traces[0].nodes.Tail()->assign(bytes, '\0');
    }
    clock_.Advance(takes);
    EXPECT_EQ(run.End(ends).ToString(), ends.ToString());
    return is_traced;
  }

  FakeClock clock_;
  StepRecorder recorder_{clock_};
  int seen_ = 0;
};

std::vector<int64_t> Ids(const Result<Recording>& recording) {
  std::vector<int64_t> ids;
  if (!recording.ok()) return {-1};
  for (const KeptStep& step : recording->steps) ids.push_back(step.id);
  return ids;
}

TEST_F(StepRecorderTest, NothingIsTracedWhileNobodyRecords) {
  EXPECT_FALSE(Step(1ms, OkStatus()));
  const auto listener = Listen({});
  EXPECT_TRUE(Step(1ms, OkStatus()));
  EXPECT_THAT(Ids(Got(*listener)), ElementsAre(1));
  EXPECT_FALSE(recorder_.is_armed());
  EXPECT_FALSE(Step(1ms, OkStatus()));
}

TEST_F(StepRecorderTest, TheNextStepsAndNoMoreAreTraced) {
  const auto listener = Listen({.steps = 2});
  EXPECT_TRUE(Step(1ms, OkStatus()));
  EXPECT_TRUE(Step(2ms, Aborted("why")));
  EXPECT_FALSE(Step(1ms, OkStatus()));
  const Result<Recording> got = Got(*listener);
  EXPECT_THAT(Ids(got), ElementsAre(1, 2));
  EXPECT_EQ(got->steps[1].status.ToString(), Aborted("why").ToString());
  EXPECT_EQ(got->steps[1].nanos, 2'000'000);
  EXPECT_EQ(got->steps[1].session, "s");
  EXPECT_EQ(got->seen, 2);
  EXPECT_EQ(got->open, 0);
}

TEST_F(StepRecorderTest, ASlowStepIsKeptAndFastOnesAreNot) {
  const auto listener = Listen({.slower_than = 10ms});
  EXPECT_TRUE(Step(10ms, OkStatus()));
  EXPECT_TRUE(Step(1ms, Aborted("why")));
  EXPECT_TRUE(Step(11ms, OkStatus()));
  const Result<Recording> got = Got(*listener);
  EXPECT_THAT(Ids(got), ElementsAre(3));
  EXPECT_EQ(got->seen, 3);
}

TEST_F(StepRecorderTest, AFailingStepIsKeptButNotTheEndOfTheData) {
  const auto listener = Listen({.failing = true});
  EXPECT_TRUE(Step(1s, OkStatus()));
  EXPECT_TRUE(Step(1ms, OutOfRange("the data has ended")));
  EXPECT_TRUE(Step(1ms, InvalidArgument("bad")));
  EXPECT_THAT(Ids(Got(*listener)), ElementsAre(3));
}

TEST_F(StepRecorderTest, OnlyStepsOfTheSessionAndWithTheNode) {
  const auto listener = Listen({.session = "t", .node = "train:0"});
  EXPECT_FALSE(Step(1ms, OkStatus(), "train", "s"));
  EXPECT_FALSE(Step(1ms, OkStatus(), "eval", "t"));
  EXPECT_FALSE(Step(1ms, OkStatus(), "train2:0", "t"));
  EXPECT_TRUE(Step(1ms, OkStatus(), "train:1", "t"));
  EXPECT_THAT(Ids(Got(*listener)), ElementsAre(1));
}

TEST_F(StepRecorderTest, SeveralRecordAtOnceAndShareATrace) {
  const auto one = Listen({});
  const auto slow = Listen({.slower_than = 5ms});
  EXPECT_TRUE(Step(6ms, OkStatus()));
  const Result<Recording> first = Got(*one);
  const Result<Recording> second = Got(*slow);
  EXPECT_THAT(Ids(first), ElementsAre(1));
  EXPECT_THAT(Ids(second), ElementsAre(1));
  EXPECT_EQ(first->steps[0].metadata, second->steps[0].metadata);
}

TEST_F(StepRecorderTest, WhatDoesNotFitEndsTheRecordingAndIsSaid) {
  const auto listener = Listen({.steps = 3, .max_bytes = 1000});
  EXPECT_TRUE(Step(1ms, OkStatus(), "x", "s", 600));
  EXPECT_TRUE(Step(1ms, OkStatus(), "x", "s", 600));
  const Result<Recording> got = Got(*listener);
  EXPECT_THAT(Ids(got), ElementsAre(1));
  EXPECT_GT(got->too_large_bytes, 600);
}

TEST_F(StepRecorderTest, ACallerWhoLeavesIsForgotten) {
  const auto listener = Listen({});
  listener->leaves.Cancel(Cancelled("gone"));
  EXPECT_EQ(Got(*listener).status().ToString(), Cancelled("gone").ToString());
  EXPECT_FALSE(recorder_.is_armed());
  EXPECT_FALSE(Step(1ms, OkStatus()));
}

TEST_F(StepRecorderTest, AtTheTimeoutWhatIsThereIsGiven) {
  const auto listener = Listen({.steps = 2, .timeout = 5s, .session = "s"});
  EXPECT_TRUE(Step(1ms, OkStatus()));
  RunOptions options;
  RecordedRun hangs(recorder_, "s", {}, &options, nullptr);
  EXPECT_EQ(options.trace, TraceLevel::kFull);
  const auto other = Listen({.failing = true, .timeout = 1h});
  EXPECT_TRUE(Step(6s, Aborted("why"), "x:0", "t"));
  const Result<Recording> got = Got(*listener);
  EXPECT_THAT(Ids(got), ElementsAre(1));
  EXPECT_EQ(got->open, 1);
  EXPECT_THAT(Ids(Got(*other)), ElementsAre(2));
}

TEST_F(StepRecorderTest, StepsThatHangDoNotKeepOthersFromBeingRecorded) {
  const auto listener = Listen({.steps = 2});
  RunOptions options;
  std::vector<std::unique_ptr<RecordedRun>> hanging;
  const auto hang = [&](const char* session) {
    options = {};
    const StepNames names;
    hanging.push_back(std::make_unique<RecordedRun>(recorder_, session, names, &options, nullptr));
    return options.trace == TraceLevel::kFull;
  };
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(hang("h"));
  EXPECT_TRUE(Step(1ms, OkStatus()));
  for (int i = 3; i < 16; ++i) EXPECT_TRUE(hang("h"));
  EXPECT_FALSE(hang("h")) << "there is a bound";
  hanging.erase(hanging.begin());
  EXPECT_TRUE(Step(1ms, OkStatus()));
  const Result<Recording> got = Got(*listener);
  EXPECT_THAT(Ids(got), ElementsAre(1, 2));
  EXPECT_EQ(got->open, 15);
}

TEST_F(StepRecorderTest, AServerThatStopsEndsRecordings) {
  const auto empty = Listen({});
  recorder_.Stop(Cancelled("stopping"));
  EXPECT_EQ(Got(*empty).status().ToString(), Cancelled("stopping").ToString());
  EXPECT_EQ(recorder_.Record({}, nullptr).status().ToString(), Cancelled("stopping").ToString());
}

TEST_F(StepRecorderTest, WhatIsThereIsGivenWhereARecordingEndsEarly) {
  const auto other = Listen({.steps = 3, .id = 8});
  const auto listener = Listen({.steps = 3, .id = 7});
  EXPECT_TRUE(Step(1ms, OkStatus()));
  EXPECT_FALSE(recorder_.End(6, "why"));
  EXPECT_FALSE(recorder_.End(0, "why"));
  EXPECT_TRUE(recorder_.End(7, "why"));
  const Result<Recording> got = Got(*listener);
  EXPECT_THAT(Ids(got), ElementsAre(1));
  EXPECT_EQ(got->ended_by, "why");
  EXPECT_TRUE(Step(1ms, OkStatus()));
  recorder_.Stop(Cancelled("stopping"));
  const Result<Recording> stopped = Got(*other);
  EXPECT_THAT(Ids(stopped), ElementsAre(1, 2));
  EXPECT_EQ(stopped->ended_by, "stopping");
}

TEST_F(StepRecorderTest, SeventeenAreOneTooMany) {
  std::vector<std::unique_ptr<Listener>> listeners;
  for (int i = 0; i < 16; ++i) listeners.push_back(Listen({.node = "never"}));
  const Status refused = recorder_.Record({.node = "never"}, nullptr).status();
  EXPECT_EQ(refused.code(), Code::kResourceExhausted);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("16 others"));
  for (const auto& listener : listeners) listener->leaves.Cancel(Cancelled("gone"));
  for (const auto& listener : listeners) EXPECT_FALSE(Got(*listener).ok());
}

TEST_F(StepRecorderTest, AClientGetsWhatItAskedForAndNoMore) {
  const auto listener = Listen({.steps = 3});
  const auto run = [&](const RunOptions& asked, RunMetadata* metadata) {
    RunOptions options = asked;
    RecordedRun step(recorder_, "s", {}, &options, metadata);
    EXPECT_EQ(options.teaches_placement, asked.trace != TraceLevel::kNone);
    step.metadata()->step_stats.step_id = 7;
    step.metadata()->step_stats.encoded = "stats";
    step.metadata()->memory.peak_bytes = 5;
    EXPECT_TRUE(step.End(OkStatus()).ok());
  };
  RunMetadata traced;
  run({.trace = TraceLevel::kFull}, &traced);
  EXPECT_EQ(traced.step_stats.encoded, "stats");
  RunMetadata with_graphs;
  run({.partition_graphs = true}, &with_graphs);
  EXPECT_EQ(with_graphs.step_stats.encoded, "");
  EXPECT_EQ(with_graphs.memory.peak_bytes, 5);
  run({}, nullptr);
  const Result<Recording> got = Got(*listener);
  ASSERT_EQ(Ids(got).size(), 3U);
  // A StepStats field that holds what all tasks told.
  EXPECT_THAT(*got->steps[0].metadata, HasSubstr("stats"));
}

}  // namespace
}  // namespace thalweg
