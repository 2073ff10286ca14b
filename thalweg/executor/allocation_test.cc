// SPDX-License-Identifier: Apache-2.0
// A step of a cached plan allocates nothing of its own and reads no clock.
#include <gtest/gtest.h>

#include <iterator>

#include "thalweg/executor/test_program.h"
#include "thalweg/testing/process_counters.h"

namespace thalweg {
namespace {

// Conditionals, loops and an asynchronous kernel; with `heavy` also work for helpers.
void Write(TestProgram& p, bool heavy) {
  const Value x = p.Feed(), one = p.Const(1), limit = p.Feed();
  const TestProgram::Sides sides = p.Switch(x, p.Less(x, p.Const(10)));
  const Value merged = p.Merge({p.Add(sides.no, one), p.Add(sides.yes, x)});
  p.Fetch(p.While(
      "loop", {p.Add(merged, one)},
      [&](const auto& v) { return p.Less(v[0], p.Enter(limit, "loop", true)); },
      [&](const auto& v) { return std::vector<Value>{p.Add(v[0], one)}; })[0]);
  p.Fetch(p.CallAsync({x}, [](Context& ctx, Done done) {
    ctx.set_output(0, ctx.input(0));
    std::move(done)(OkStatus());
  }));
  Value sum = merged;
  for (int i = 0; i < 50 && heavy; ++i) {
    Value v = p.Add(x, p.Const(i));
    p.last().heavy = true;
    sum = p.Add(sum, v);
  }
  p.Fetch(sum);
}

// Helpers come when the step is over; allocates nothing.
class LateQueue : public WorkQueue {
 public:
  void Schedule(Task task) override {
    ASSERT_LT(size_, std::size(tasks_));
    tasks_[size_++] = task;
  }
  int Parallelism() const override { return 2; }
  int CurrentThreadIndex() const override { return -1; }
  void RunAll() {
    while (size_ > 0) {
      const Task task = tasks_[--size_];
      task.run(task.object, task.argument);
    }
  }

 private:
  Task tasks_[16];
  size_t size_ = 0;
};

// The system's, read as any other is.
class ReadClock : public SystemClock {};

class AllocationTest : public ::testing::TestWithParam<ExecutorOptions> {};

TEST_P(AllocationTest, AStepOfACachedPlanAllocatesNothingAndReadsNoClock) {
  TestProgram p;
  Write(p, GetParam().threads > 0);
  LateQueue queue;
  const auto executor = *MakeExecutor(p.Take(), GetParam());
  CancellationManager cancellation;
  StepContext context;
  context.cancellation = &cancellation;
  StepContext* const contexts[] = {&context};
  const Tensor feeds[] = {Tensor::Scalar<int64_t>(1), Tensor::Scalar<int64_t>(50)};
  Tensor fetches[3];
  const Executor::Step step{
      .contexts = contexts, .feeds = feeds, .fetches = fetches, .queue = &queue};
  int64_t before = 0;
  for (int round = 0; round < 5; ++round) {
    before = AllocationsSoFar() + ClockReadingsSoFar();
    ASSERT_TRUE(executor->Run(step).ok());
    queue.RunAll();
  }
  EXPECT_EQ(AllocationsSoFar() + ClockReadingsSoFar(), before);
  EXPECT_EQ(fetches[0].scalar<int64_t>(), 50);
  // One that is traced reads the clock that it is given: each kernel's end, if not its start.
  const ReadClock clock;
  StepTrace trace(&clock);
  Executor::Step traced = step;
  traced.trace = &trace;
  before = ClockReadingsSoFar();
  ASSERT_TRUE(executor->Run(traced).ok());
  queue.RunAll();
  EXPECT_GE(ClockReadingsSoFar(), before + static_cast<int64_t>(trace.TakeRecords().size()));
}

// Where nothing lies between two kernels, one begins when the other has ended.
TEST(TraceTimesTest, AChainIsTimedByOneLookANode) {
  constexpr int kNodes = 1000;
  TestProgram p;
  int last = p.NoOp({});
  for (int i = 1; i < kNodes; ++i) last = p.NoOp({last});
  Harness harness(p.Take(), [](Program program) { return MakeExecutor(std::move(program), {}); });
  const ReadClock clock;
  StepTrace trace(&clock);
  CancellationManager cancellation;
  const int64_t before = ClockReadingsSoFar();
  ASSERT_TRUE(harness.RunStep({}, {}, cancellation, &trace).ok());
  const int64_t readings = ClockReadingsSoFar() - before;
  EXPECT_GE(readings, kNodes);
  EXPECT_LT(readings, kNodes + kNodes / 10);  // the first, and where there was no room
  const std::vector<NodeRecord> records = trace.TakeRecords();
  ASSERT_EQ(records.size(), static_cast<size_t>(kNodes));
  for (size_t i = 1; i < records.size(); ++i) {
    EXPECT_LE(records[i - 1].start_nanos, records[i - 1].end_nanos);
    EXPECT_LE(records[i - 1].end_nanos, records[i].start_nanos);
  }
}

INSTANTIATE_TEST_SUITE_P(Worlds, AllocationTest,
                         ::testing::Values(ExecutorOptions{},
                                           ExecutorOptions{.structured_loops = false},
                                           ExecutorOptions{.threads = 2}));

}  // namespace
}  // namespace thalweg
