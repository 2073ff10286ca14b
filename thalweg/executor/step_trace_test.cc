// SPDX-License-Identifier: Apache-2.0
#include "thalweg/executor/step_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <array>
#include <atomic>
#include <chrono>
#include <thread>

#include "thalweg/base/parallel_for.h"
#include "thalweg/base/test_answering_thread.h"
#include "thalweg/base/thread_pool.h"
#include "thalweg/executor/executor.h"
#include "thalweg/executor/test_program.h"
#include "thalweg/testing/fake_clock.h"

namespace thalweg {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kRecordBytes = sizeof(NodeRecord), kValueBytes = sizeof(ValueRecord);

// Executions [first, last) of nodes 0, 1, 2, 0 ..., each at its number; each has `outputs` values
// that name it.
void AddExecutions(StepTrace* trace, int first, int last, uint32_t outputs = 0) {
  std::vector<NodeRecord> records;
  std::vector<ValueRecord> values;
  for (int i = first; i < last; ++i) {
    records.push_back({.node = i % 3, .start_nanos = i, .end_nanos = i, .values = outputs});
    for (uint32_t o = 0; o < outputs; ++o) values.push_back({.bytes = i});
  }
  trace->Add(&records, &values);
  EXPECT_TRUE(records.empty() && values.empty());
}

TEST(BoundedTraceTest, KeepsTheNewestAndCountsTheRest) {
  FakeClock clock;
  StepTrace trace(&clock);
  trace.KeepNewest(10 * kRecordBytes + 5);
  for (int i = 0; i < 100; i += 4) AddExecutions(&trace, i, i + 4);
  trace.LeaveOut(LeftOutRecords::kNothing);
  const LeftOutRecords left_out = trace.TakeLeftOut();
  EXPECT_THAT(left_out.by_node, ElementsAre(30, 30, 30));
  EXPECT_EQ(left_out.until_nanos, 89);
  const std::vector<NodeRecord> kept = trace.TakeRecords();
  ASSERT_EQ(kept.size(), 10u);
  for (size_t i = 0; i < kept.size(); ++i) EXPECT_EQ(kept[i].start_nanos, 90 + i);
}

TEST(BoundedTraceTest, AllIsKeptWithinTheBound) {
  for (const bool is_bounded : {false, true}) {
    FakeClock clock;
    StepTrace trace(&clock);
    if (is_bounded) trace.KeepNewest(100 * kRecordBytes);
    AddExecutions(&trace, 0, 100);
    trace.LeaveOut(LeftOutRecords::kNothing);
    EXPECT_TRUE(trace.TakeLeftOut().by_node.empty());
    EXPECT_EQ(trace.TakeRecords().size(), 100u);
  }
}

// While a step runs it holds a batch or two more than the bound.
TEST(BoundedTraceTest, IsBoundedBeforeAnybodyTakesIt) {
  constexpr int64_t kMost = 4 * StepTrace::kBatchBytes;
  for (const int at_once : {1, 1000, 20'000}) {
    FakeClock clock;
    StepTrace trace(&clock);
    trace.KeepNewest(kMost);
    for (int i = 0; i < 200'000; i += at_once) AddExecutions(&trace, i, i + at_once);
    const auto kept = static_cast<int64_t>(trace.TakeRecords().size());
    EXPECT_GE(kept * kRecordBytes, kMost);
    EXPECT_LT(kept * kRecordBytes, kMost + 4 * StepTrace::kBatchBytes);
  }
}

TEST(BoundedTraceTest, ValuesCountAndGoWithTheirExecutions) {
  FakeClock clock;
  StepTrace trace(&clock);
  trace.KeepNewest(5 * (kRecordBytes + 2 * kValueBytes));
  for (int i = 0; i < 20; ++i) AddExecutions(&trace, i, i + 1, 2);
  trace.LeaveOut(16);  // something else is not known until then
  EXPECT_THAT(trace.TakeLeftOut().by_node, ElementsAre(6, 6, 5));
  EXPECT_EQ(trace.TakeRecords().size(), 3u);
  std::vector<int64_t> of;
  for (const ValueRecord& value : trace.TakeValues()) of.push_back(value.bytes);
  EXPECT_THAT(of, ElementsAre(17, 17, 18, 18, 19, 19));
}

// What one thread handed over late may be older than what went.
TEST(BoundedTraceTest, NothingIsLeftOfTheTimeOfWhichSomethingIsMissing) {
  FakeClock clock;
  StepTrace trace(&clock);
  trace.KeepNewest(4 * kRecordBytes);
  AddExecutions(&trace, 50, 51);
  for (const int i : {10, 20, 60, 70}) AddExecutions(&trace, i, i + 1);
  trace.LeaveOut(LeftOutRecords::kNothing);
  const LeftOutRecords left_out = trace.TakeLeftOut();
  EXPECT_EQ(left_out.until_nanos, 50);
  EXPECT_THAT(left_out.by_node, ElementsAre(0, 1, 2));
  std::vector<int64_t> starts;
  for (const NodeRecord& record : trace.TakeRecords()) starts.push_back(record.start_nanos);
  EXPECT_THAT(starts, ElementsAre(60, 70));
}

// As one unit, as nodes that signal each other, on one thread and several.
TEST(BoundedTraceTest, ALongLoopIsBoundedWhileItRuns) {
  for (const bool structured : {true, false}) {
    for (const int threads : {0, 2}) {
      constexpr int kTrips = 30'000;
      StepTrace trace;
      int64_t seen = 0;  // by the last iteration, of those before
      TestProgram p;
      const Value zero = p.Const(0), one = p.Const(1), limit = p.Const(kTrips);
      p.Fetch(p.While(
          "loop", {zero}, [&](const auto& v) { return p.Less(v[0], p.Enter(limit, "loop", true)); },
          [&](const auto& v) {
            return std::vector<Value>{p.Call({p.Add(v[0], one)}, [&](Context& ctx) {
              const auto i = ctx.input(0).template scalar<int64_t>();
              if (i == kTrips) seen = trace.bytes();
              ctx.set_output(0, ctx.input(0));
              return OkStatus();
            })};
          })[0]);
      ThreadPool pool({.threads = threads});
      Harness harness(
          p.Take(),
          [&](Program program) {
            return MakeExecutor(std::move(program),
                                {.threads = threads, .structured_loops = structured});
          },
          &pool);
      ASSERT_TRUE(harness.made().ok());
      constexpr int64_t kMost = 2 * StepTrace::kBatchBytes;
      trace.KeepNewest(kMost);
      CancellationManager cancellation;
      Tensor out;
      ASSERT_TRUE(harness.RunStep({}, {&out, 1}, cancellation, &trace).ok());
      EXPECT_GE(seen, kMost);
      EXPECT_LT(seen, kMost + 4 * StepTrace::kBatchBytes);
      trace.LeaveOut(LeftOutRecords::kNothing);
      LeftOutRecords left_out = trace.TakeLeftOut();
      EXPECT_GE(left_out.until_nanos, trace.ticks().begin_nanos());
      EXPECT_LE(left_out.until_nanos, trace.ticks().end_nanos());
      std::vector<int64_t>& runs = left_out.by_node;
      const std::vector<NodeRecord> kept = trace.TakeRecords();
      EXPECT_EQ(static_cast<int64_t>(kept.size()), kMost / kRecordBytes);
      runs.resize(harness.executor().program().nodes.size());
      for (const NodeRecord& record : kept) ++runs[static_cast<size_t>(record.node)];
      for (size_t i = 0; i < runs.size(); ++i) {
        const ProgramNode& node = harness.executor().program().nodes[i];
        if (node.op != "Add" && node.op != "Less") continue;
        EXPECT_EQ(runs[i], node.op == "Add" ? kTrips : kTrips + 1) << node.Label();
      }
    }
  }
}

// The kernel keeps the last 224 switches of a thread. So what is told of more waits than that was
// taken while the step ran: when a unit ends, and within one that is a whole loop.
TEST(TracedThreadTest, ALongStepTellsOfMoreSwitchesThanTheKernelKeeps) {
  for (const bool structured : {true, false}) {
    // Units of their own end each iteration; a loop that is one hands over each 8,192 executions.
    const int64_t trips = structured ? 30'000 : 600, asked_each = structured ? 32 : 1;
    constexpr size_t kKept = 224;
    AnsweringThread answerer;
    StepTrace trace;
    TestProgram p;
    const Value zero = p.Const(0), one = p.Const(1), limit = p.Const(trips);
    p.Fetch(p.While(
        "loop", {zero}, [&](const auto& v) { return p.Less(v[0], p.Enter(limit, "loop", true)); },
        [&](const auto& v) {
          return std::vector<Value>{p.Call({p.Add(v[0], one)}, [&](Context& ctx) {
            if (ctx.input(0).template scalar<int64_t>() % asked_each == 0) answerer.Ask();
            ctx.set_output(0, ctx.input(0));
            return OkStatus();
          })};
        })[0]);
    Harness harness(p.Take(), [&](Program program) {
      return MakeExecutor(std::move(program), {.structured_loops = structured});
    });
    ASSERT_TRUE(harness.made().ok());
    trace.TraceSwitches();
    CancellationManager cancellation;
    Tensor out;
    ASSERT_TRUE(harness.RunStep({}, {&out, 1}, cancellation, &trace).ok());
    const SwitchRecords switches = trace.TakeSwitches();
    if (!switches.missing.ok()) {
      EXPECT_THAT(switches.missing.message(), HasSubstr("tells no thread switches"));
      continue;  // the machine does not permit it
    }
    // The one that is asked may be let run in place of who asks, which is no wait.
    size_t told = 0;
    for (const auto& [thread, all] : switches.by_thread) told += all.size();
    EXPECT_GT(told, 2 * kKept) << "of " << trips / asked_each;
  }
}

// Steps that are traced one after the other are counted through; the next one that is not ends it.
TEST(TracedThreadTest, AStepThatIsNotTracedEndsTheCounting) {
  TestProgram p;
  p.Fetch(p.Add(p.Const(1), p.Const(2)));
  Harness harness(p.Take(), [&](Program program) { return MakeExecutor(std::move(program), {}); });
  ASSERT_TRUE(harness.made().ok());
  CancellationManager cancellation;
  Tensor out;
  for (int round = 0; round < 2; ++round) {
    StepTrace trace;
    trace.TraceSwitches();
    ASSERT_TRUE(harness.RunStep({}, {&out, 1}, cancellation, &trace).ok());
    EXPECT_EQ(ThreadSwitches::IsCounting(), trace.TakeSwitches().missing.ok());
  }
  ASSERT_TRUE(harness.RunStep({}, {&out, 1}, cancellation, nullptr).ok());
  EXPECT_FALSE(ThreadSwitches::IsCounting());
}

// A thread that helps a kernel shares a processor with one that always wants it, until it has seen
// that it was let wait.
TEST(TracedThreadTest, HelpersOfAKernelAreToldOf) {
  ThreadPool pool({.threads = 1});
  StepTrace trace;
  bool is_permitted = true;
  TestProgram p;
  p.Fetch(p.Call({p.Const(1)}, [&](Context& ctx) {
    std::atomic<int> begun{0};
    const std::thread::id caller = std::this_thread::get_id();
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    ParallelFor(&pool, 2, 1, [&](int64_t, int64_t) {
      ++begun;
      while (begun < 2 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
      if (std::this_thread::get_id() == caller) return;
      ThreadSwitches::Watch watch;
      is_permitted = watch.status().ok();
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(::sched_getcpu(), &one);
      ::sched_setaffinity(0, sizeof(one), &one);
      std::atomic<bool> stop{false};
      std::thread other([&stop] {
        while (!stop.load(std::memory_order_relaxed)) continue;
      });
      bool seen = !is_permitted;
      while (!seen && std::chrono::steady_clock::now() < end) {
        std::vector<ThreadSwitch> switches;
        watch.Take(&switches);
        for (const ThreadSwitch& each : switches) seen |= each.is_preempted;
      }
      stop = true;
      other.join();
    });
    ctx.set_output(0, ctx.input(0));
    return OkStatus();
  }));
  Harness harness(p.Take(), [&](Program program) { return MakeExecutor(std::move(program), {}); });
  ASSERT_TRUE(harness.made().ok());
  trace.TraceSwitches();
  CancellationManager cancellation;
  Tensor out;
  ASSERT_TRUE(harness.RunStep({}, {&out, 1}, cancellation, &trace).ok());
  const SwitchRecords switches = trace.TakeSwitches();
  EXPECT_EQ(switches.missing.ok(), is_permitted);
  if (!is_permitted) return;
  ASSERT_TRUE(switches.of_helpers.contains(0));
  int64_t before = 0;
  for (const ThreadSwitch& each : switches.of_helpers.at(0)) {
    EXPECT_TRUE(each.is_preempted);
    EXPECT_LT(before, each.out_nanos);
    EXPECT_LE(each.out_nanos, each.in_nanos);
    before = each.in_nanos;
  }
}

}  // namespace
}  // namespace thalweg
