// SPDX-License-Identifier: Apache-2.0
// What a program means, in every executor and with every number of threads.
#include "thalweg/executor/executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <limits>
#include <new>
#include <thread>

#include "thalweg/base/notification.h"
#include "thalweg/base/thread_pool.h"
#include "thalweg/executor/test_program.h"
#include "thalweg/resources/variable.h"
#include "thalweg/testing/plain_executor.h"
#include "thalweg/testing/sanitized.h"

namespace thalweg {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Values = std::vector<int64_t>;

struct World {
  const char* name;
  bool plain;
  int threads;
  bool basic_blocks = true;
  bool structured_loops = true;
};

class ExecutorTest : public ::testing::TestWithParam<World> {
 protected:
  ExecutorTest() : pool_({.threads = GetParam().threads}) {}

  std::unique_ptr<Harness> Make(TestProgram& p) {
    const auto make = [](Program program) {
      if (GetParam().plain) return MakePlainExecutor(std::move(program));
      return MakeExecutor(std::move(program), {.threads = GetParam().threads,
                                               .basic_blocks = GetParam().basic_blocks,
                                               .structured_loops = GetParam().structured_loops});
    };
    return std::make_unique<Harness>(p.Take(), make, &pool_);
  }
  Result<Values> Run(TestProgram& p, const Values& feeds = {}) { return Make(p)->Run(feeds); }

  ThreadPool pool_;
};

// A loop that counts from `start` to `limit`.
Value Count(TestProgram& p, Value start, Value limit, const std::string& frame = "count",
            int parallel = 10) {
  const Value one = p.Const(1);
  return p.While(
      frame, {start},
      [&](const auto& v) { return p.Less(v[0], p.Enter(limit, frame, true, parallel)); },
      [&](const auto& v) { return std::vector<Value>{p.Add(v[0], one)}; }, parallel)[0];
}

TEST_P(ExecutorTest, FeedsConstantsAndFetches) {
  TestProgram p;
  const Value a = p.Feed(), b = p.Feed(), c = p.Const(100);
  const Value sum = p.Add(p.Add(a, b), c);
  p.Fetch(sum);
  p.Fetch(a);
  p.Fetch(c);
  p.Fetch(sum);
  const auto h = Make(p);
  EXPECT_THAT(*h->Run({1, 2}), ElementsAre(103, 1, 100, 103));
  EXPECT_THAT(*h->Run({10, 20}), ElementsAre(130, 10, 100, 130));
}

TEST_P(ExecutorTest, EmptyProgram) {
  TestProgram p;
  EXPECT_TRUE(Run(p).ok());
}

TEST_P(ExecutorTest, ControlEdgesOrder) {
  TestProgram p;
  std::atomic<int> counter{0};
  std::vector<int> seen(4);
  const auto note = [&](int i) {
    return [&seen, &counter, i](Context& ctx) {
      seen[i] = ++counter;
      ctx.set_output(0, Tensor::Scalar<int64_t>(i));
      return OkStatus();
    };
  };
  const int d = p.Call({}, note(3)).node;
  p.last().heavy = true;
  const int c = p.Call({}, note(2), {d}).node;
  const int b = p.Call({}, note(1), {c, p.NoOp({d})}).node;
  p.last().heavy = true;
  p.Call({}, note(0), {b});
  ASSERT_TRUE(Run(p).ok());
  EXPECT_THAT(seen, ElementsAre(4, 3, 2, 1));
}

TEST_P(ExecutorTest, ACondRunsOneBranch) {
  TestProgram p;
  std::atomic<int> runs{0};
  const Value x = p.Feed(), limit = p.Const(10);
  const Value small = p.Less(x, limit);
  const TestProgram::Sides sides = p.Switch(x, small);
  const auto counted = [&](int64_t add) {
    return [&runs, add](Context& ctx) {
      ++runs;
      ctx.set_output(0, Tensor::Scalar(ctx.input(0).scalar<int64_t>() + add));
      return OkStatus();
    };
  };
  const Value yes = p.Add(p.Call({sides.yes}, counted(100)), limit);
  const Value no = p.Call({p.Call({sides.no}, counted(1000))}, counted(1000));
  p.last().heavy = true;
  const Value merged = p.Merge({no, yes});
  p.Fetch(p.Add(merged, x));
  p.Fetch({merged.node, 1});
  const auto h = Make(p);
  EXPECT_THAT(*h->Run({1}), ElementsAre(112, 1));
  EXPECT_EQ(runs, 1);
  EXPECT_THAT(*h->Run({50}), ElementsAre(2100, 0));
  EXPECT_EQ(runs, 3);
}

TEST_P(ExecutorTest, DeadnessFlowsThroughControlEdgesAndMixedInputs) {
  TestProgram p;
  const Value x = p.Feed();
  const TestProgram::Sides sides = p.Switch(x, p.Less(x, p.Const(10)));
  const int yes = p.NoOp({p.Identity(sides.yes).node});
  // Lives and dies with the branch through a control edge, a constant and a mixture.
  const Value a = p.Add(p.ConstAfter(5, {yes}), x);
  const Value b = p.Identity(sides.no);
  p.Fetch(p.Merge({a, b}));
  const auto h = Make(p);
  EXPECT_THAT(*h->Run({1}), ElementsAre(6));
  EXPECT_THAT(*h->Run({20}), ElementsAre(20));
}

TEST_P(ExecutorTest, AMergeOfDeadInputsIsDead) {
  TestProgram p;
  const Value x = p.Feed();
  const TestProgram::Sides outer = p.Switch(x, p.Less(x, p.Const(10)));
  const TestProgram::Sides inner = p.Switch(outer.yes, p.Less(outer.yes, p.Const(5)));
  const Value merged = p.Merge({p.Identity(inner.no), p.Add(inner.yes, inner.yes)});
  p.Fetch(p.Merge({outer.no, merged}));
  const auto h = Make(p);
  EXPECT_THAT(*h->Run({2}), ElementsAre(4));
  EXPECT_THAT(*h->Run({7}), ElementsAre(7));
  EXPECT_THAT(*h->Run({30}), ElementsAre(30));
}

TEST_P(ExecutorTest, ADeadFetchIsAnErrorThatNamesIt) {
  TestProgram p;
  const Value x = p.Feed();
  const TestProgram::Sides sides = p.Switch(x, p.Less(x, p.Const(10)));
  p.Fetch(p.Identity(sides.yes));
  const auto h = Make(p);
  EXPECT_THAT(*h->Run({1}), ElementsAre(1));
  const Status status = h->Run({10}).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.ToString(), HasSubstr("Identity 'n3'"));
  EXPECT_THAT(*h->Run({1}), ElementsAre(1));
}

TEST_P(ExecutorTest, AMergeReadsConstantsAndFeeds) {
  TestProgram p;
  p.Fetch(p.Merge({p.Const(3)}));
  p.Fetch(p.Merge({p.Feed()}));
  EXPECT_THAT(*Run(p, {8}), ElementsAre(3, 8));
}

TEST_P(ExecutorTest, AMergeWaitsForItsControlInputsDeadOrAlive) {
  TestProgram p;
  std::atomic<bool> first{false}, in_order{false};
  const Value x = p.Feed();
  const TestProgram::Sides sides = p.Switch(x, p.Less(x, p.Const(10)));
  const int dead = p.Identity(sides.no).node;
  const int slow = p.Call({x}, [&](Context& ctx) {
                      first = true;
                      ctx.set_output(0, ctx.input(0));
                      return OkStatus();
                    }).node;
  p.last().heavy = true;
  const Value merged = p.Merge({sides.yes});
  p.last().control_inputs = {slow, dead};
  p.Fetch(p.Call({merged}, [&](Context& ctx) {
    in_order = first.load();
    ctx.set_output(0, ctx.input(0));
    return OkStatus();
  }));
  EXPECT_THAT(*Run(p, {1}), ElementsAre(1));
  EXPECT_TRUE(in_order);
}

TEST_P(ExecutorTest, AControlTriggerIgnoresDeadControls) {
  TestProgram p;
  const Value x = p.Feed();
  const TestProgram::Sides sides = p.Switch(x, p.Less(x, p.Const(10)));
  p.NoOp({p.Identity(sides.no).node, p.Identity(sides.yes).node});
  p.last().ignores_dead_controls = true;
  const int trigger = static_cast<int>(p.program().nodes.size()) - 1;
  p.Fetch(p.ConstAfter(7, {trigger}));
  EXPECT_THAT(*Run(p, {1}), ElementsAre(7));
}

// What it waits for can be dead for more reasons than what comes before: it, and who waits for it,
// are in basic blocks of their own.
TEST_P(ExecutorTest, AControlTriggerInALoopWaitsForAReaderOfAnInvariant) {
  TestProgram p;
  const Value limit = p.Feed(), one = p.Const(1), zero = p.Const(0);
  const Value invariant = p.Enter(limit, "loop", true);
  const std::vector<Value> out = p.While(
      "loop", {zero, limit}, [&](const auto& v) { return p.Less(v[0], v[1]); },
      [&](const auto& v) {
        const Value more = p.Add(v[0], one);
        const Value read = p.Identity(invariant);
        p.last().control_inputs = {more.node};
        const int trigger = p.NoOp({read.node});
        p.last().ignores_dead_controls = true;
        const Value next = p.Identity(more);
        p.last().control_inputs = {trigger};
        return std::vector<Value>{next, v[1]};
      });
  p.Fetch(out[0]);
  EXPECT_THAT(*Run(p, {3}), ElementsAre(3));
}

TEST_P(ExecutorTest, ASendRunsWhenDeadWithEmptyInputsAndARecvCanBeDead) {
  TestProgram p;
  std::atomic<int> live{0}, dead{0};
  const Value x = p.Feed();
  const TestProgram::Sides sides = p.Switch(x, p.Less(x, p.Const(10)));
  const auto send = [&](Context& ctx) {
    ++(ctx.input(0).empty() ? dead : live);
    return OkStatus();
  };
  for (const Value side : {sides.no, sides.yes}) {
    p.Call({p.Identity(side)}, send);
    p.last().runs_when_dead = true;
    p.last().num_outputs = 0;
  }
  const auto recv = [](bool gives) {
    return [gives](Context& ctx, Done done) {
      if (gives) ctx.set_output(0, Tensor::Scalar<int64_t>(5));
      std::move(done)(OkStatus());
    };
  };
  const Value a = p.CallAsync({}, recv(true));
  p.last().may_be_dead = true;
  const Value b = p.CallAsync({}, recv(false));
  p.last().may_be_dead = true;
  p.Fetch(p.Merge({p.Add(a, a), p.Add(b, b)}));
  EXPECT_THAT(*Run(p, {1}), ElementsAre(10));
  EXPECT_EQ(live, 1);
  EXPECT_EQ(dead, 1);
}

TEST_P(ExecutorTest, ALoopCounts) {
  for (const int parallel : {1, 2, 10}) {
    TestProgram p;
    const Value start = p.Feed(), limit = p.Feed();
    p.Fetch(Count(p, start, limit, "count", parallel));
    const auto h = Make(p);
    EXPECT_THAT(*h->Run({0, 1000}), ElementsAre(1000));
    EXPECT_THAT(*h->Run({5, 6}), ElementsAre(6));
  }
}

TEST_P(ExecutorTest, ZeroTripLoopsReturnTheirInputs) {
  TestProgram p;
  const Value start = p.Feed(), limit = p.Feed();
  p.Fetch(Count(p, start, limit));
  EXPECT_THAT(*Run(p, {9, 3}), ElementsAre(9));
}

TEST_P(ExecutorTest, LoopVariablesMoveOverTogether) {
  for (const bool raw : {false, true}) {
    TestProgram p;
    const Value a = p.Feed(), b = p.Feed(), n = p.Feed(), one = p.Const(1), zero = p.Const(0);
    const std::vector<Value> out = p.While(
        "swap", {zero, a, b, a, n}, [&](const auto& v) { return p.Less(v[0], v[4]); },
        [&](const auto& v) {
          return std::vector<Value>{p.Add(v[0], one), v[2], v[1], p.Add(v[1], v[2]), v[4]};
        },
        10, raw);
    for (const Value& value : out) p.Fetch(value);
    EXPECT_THAT(*Run(p, {3, 4, 5}), ElementsAre(5, 4, 3, 7, 5));
  }
}

// i from 0 to n; inner j from 0 to i; sums up j.
TEST_P(ExecutorTest, NestedLoops) {
  TestProgram p;
  const Value n = p.Feed(), one = p.Const(1), zero = p.Const(0);
  const std::vector<Value> out = p.While(
      "outer", {zero, zero}, [&](const auto& v) { return p.Less(v[0], p.Enter(n, "outer", true)); },
      [&](const auto& v) {
        const Value start = p.ConstAfter(0, {v[0].node});
        const std::vector<Value> inner = p.While(
            "inner", {start, v[1]},
            [&](const auto& w) { return p.Less(w[0], p.Enter(v[0], "inner", true)); },
            [&](const auto& w) {
              return std::vector<Value>{p.Add(w[0], one), p.Add(w[1], w[0])};
            });
        return std::vector<Value>{p.Add(v[0], one), inner[1]};
      });
  p.Fetch(out[1]);
  EXPECT_THAT(*Run(p, {20}), ElementsAre(1140));
}

TEST_P(ExecutorTest, ACondInALoop) {
  TestProgram p;
  const Value n = p.Feed(), one = p.Const(1), zero = p.Const(0), ten = p.Const(10);
  const std::vector<Value> out = p.While(
      "loop", {zero, zero}, [&](const auto& v) { return p.Less(v[0], p.Enter(n, "loop", true)); },
      [&](const auto& v) {
        const TestProgram::Sides sides = p.Switch(v[1], p.Less(v[0], ten));
        const Value merged = p.Merge({p.Add(sides.no, one), p.Add(p.Add(sides.yes, ten), ten)});
        return std::vector<Value>{p.Add(v[0], one), merged};
      });
  p.Fetch(out[1]);
  EXPECT_THAT(*Run(p, {15}), ElementsAre(205));
}

TEST_P(ExecutorTest, ALoopInAnUntakenBranchEndsAtOnceWithDeadExits) {
  TestProgram p;
  const Value x = p.Feed();
  const TestProgram::Sides sides = p.Switch(x, p.Less(x, p.Const(10)));
  const Value counted =
      Count(p, p.Identity(sides.yes), p.ConstAfter(50, {p.Identity(sides.yes).node}));
  p.Fetch(p.Merge({sides.no, counted}));
  const auto h = Make(p);
  EXPECT_THAT(*h->Run({1}), ElementsAre(50));
  EXPECT_THAT(*h->Run({70}), ElementsAre(70));
}

TEST_P(ExecutorTest, ALoopWithAnAsyncBody) {
  TestProgram p;
  const Value n = p.Feed(), zero = p.Const(0);
  const Value out = p.While(
      "loop", {zero}, [&](const auto& v) { return p.Less(v[0], p.Enter(n, "loop", true)); },
      [&](const auto& v) {
        return std::vector<Value>{p.CallAsync({v[0]}, [this](Context& ctx, Done done) {
          ctx.set_output(0, Tensor::Scalar(ctx.input(0).scalar<int64_t>() + 1));
          ScheduleClosure(
              pool_, [d = std::make_shared<Done>(std::move(done))] { std::move (*d)(OkStatus()); });
        })};
      })[0];
  p.Fetch(out);
  EXPECT_THAT(*Run(p, {100}), ElementsAre(100));
}

// The heavy body of one iteration runs beside the next iteration's counter, within the window.
TEST_P(ExecutorTest, LiveIterationsNeverExceedParallelIterations) {
  for (const int parallel : {1, 3}) {
    TestProgram p;
    std::atomic<int> most{0}, started{0}, ended{0};
    const Value n = p.Feed(), one = p.Const(1), zero = p.Const(0);
    const std::vector<Value> out = p.While(
        "loop", {zero, zero},
        [&](const auto& v) { return p.Less(v[0], p.Enter(n, "loop", true, parallel)); },
        [&](const auto& v) {
          const Value first = p.Call({v[0]}, [&](Context& ctx) {
            const int live = ++started - ended.load();
            int seen = most.load();
            while (live > seen && !most.compare_exchange_weak(seen, live)) {
            }
            ctx.set_output(0, ctx.input(0));
            return OkStatus();
          });
          const Value second = p.Call({first, v[1]}, [&](Context& ctx) {
            ++ended;
            ctx.set_output(0, ctx.input(1));
            return OkStatus();
          });
          p.last().heavy = true;
          return std::vector<Value>{p.Add(v[0], one), second};
        },
        parallel);
    p.Fetch(out[0]);
    EXPECT_THAT(*Run(p, {200}), ElementsAre(200));
    EXPECT_EQ(started, 200);
    EXPECT_LE(most, parallel);
  }
}

TEST_P(ExecutorTest, HalfDeadLoopsEnd) {
  // The inner loop's second variable comes from outside of the branch, the first dies with it.
  TestProgram p;
  const Value x = p.Feed(), one = p.Const(1);
  const TestProgram::Sides sides = p.Switch(x, p.Less(x, p.Const(10)));
  const std::vector<Value> out = p.While(
      "loop", {p.Identity(sides.yes), x},
      [&](const auto& v) { return p.Less(v[1], p.Enter(p.Const(20), "loop", true)); },
      [&](const auto& v) {
        return std::vector<Value>{p.Add(v[0], one), p.Add(v[1], one)};
      });
  p.Fetch(p.Merge({sides.no, p.Identity(out[0])}));
  const auto h = Make(p);
  EXPECT_THAT(*h->Run({1}), ElementsAre(20));
  EXPECT_THAT(*h->Run({15}), ElementsAre(15));
}

TEST_P(ExecutorTest, FirstErrorWinsNamesNodeAndThePlanWorksInTheNextStep) {
  TestProgram p;
  const Value x = p.Feed();
  const auto maybe = [](Context& ctx) -> Status {
    if (ctx.input(0).scalar<int64_t>() == 0) return OutOfRange("zero is no good");
    ctx.set_output(0, ctx.input(0));
    return OkStatus();
  };
  Value v = x;
  for (int i = 0; i < 10; ++i) v = p.Add(v, p.Const(0));
  const Value a = p.Call({v}, maybe);
  p.last().site = "train.py:41";
  const Value b = p.Call({v}, maybe);
  p.last().heavy = true;
  p.Fetch(p.Add(a, b));
  const auto h = Make(p);
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(*h->Run({4}), ElementsAre(8));
    const Status status = h->Run({0}).status();
    EXPECT_EQ(status.code(), Code::kOutOfRange);
    EXPECT_THAT(status.ToString(), HasSubstr("zero is no good\n\t [[Call 'n2"));
    EXPECT_THAT(status.ToString(), ::testing::AnyOf(HasSubstr("Call 'n20'; inputs: int64[]]]"),
                                                    HasSubstr("Call 'n21'; inputs: int64[]]]")));
  }
}

TEST_P(ExecutorTest, ErrorsInLoopsEndTheStep) {
  TestProgram p;
  const Value n = p.Feed(), one = p.Const(1), zero = p.Const(0);
  const std::vector<Value> out = p.While(
      "loop", {zero}, [&](const auto& v) { return p.Less(v[0], p.Enter(n, "loop", true)); },
      [&](const auto& v) {
        return std::vector<Value>{p.Call({p.Add(v[0], one)}, [](Context& ctx) -> Status {
          if (ctx.input(0).scalar<int64_t>() == 7) return Aborted("seven");
          ctx.set_output(0, ctx.input(0));
          return OkStatus();
        })};
      });
  p.Fetch(out[0]);
  const auto h = Make(p);
  EXPECT_EQ(h->Run({20}).status().code(), Code::kAborted);
  EXPECT_THAT(*h->Run({5}), ElementsAre(5));
}

TEST_P(ExecutorTest, AnExceptionOrAMissingOutputIsAnError) {
  TestProgram p;
  p.Call({}, [](Context&) -> Status { throw std::runtime_error("boom"); });
  EXPECT_THAT(Run(p).status().ToString(), HasSubstr("threw an exception: boom"));
  TestProgram big;
  big.Call({}, [](Context&) -> Status { throw std::bad_alloc(); });
  EXPECT_EQ(Run(big).status().code(), Code::kResourceExhausted);
  TestProgram q;
  q.Call({}, [](Context&) { return OkStatus(); });
  EXPECT_THAT(Run(q).status().ToString(), HasSubstr("did not set output 0"));
}

TEST_P(ExecutorTest, ADroppedDoneIsAnErrorNamingTheNode) {
  TestProgram p;
  p.Fetch(p.CallAsync({}, [](Context&, Done) {}));
  const Status status = Run(p).status();
  EXPECT_EQ(status.code(), Code::kInternal);
  EXPECT_THAT(status.ToString(), HasSubstr("CallAsync 'n0'"));
}

TEST_P(ExecutorTest, AsyncKernelsEndInlineOrOnAForeignThread) {
  TestProgram p;
  std::vector<std::thread> threads;
  Mutex mutex;
  const Value x = p.Feed();
  Value sum = x;
  for (int i = 0; i < 20; ++i) {
    sum = p.Add(sum, p.CallAsync({x}, [&, i](Context& ctx, Done done) {
      auto end = [&ctx, d = std::make_shared<Done>(std::move(done))] {
        ctx.set_output(0, ctx.input(0));
        std::move (*d)(OkStatus());
      };
      if (i % 2 == 0) return end();
      MutexLock lock(mutex);
      threads.emplace_back(end);
    }));
  }
  p.Fetch(sum);
  EXPECT_THAT(*Run(p, {3}), ElementsAre(63));
  for (std::thread& thread : threads) thread.join();
}

TEST_P(ExecutorTest, ABlockedAsyncKernelEndsOnCancel) {
  TestProgram p;
  Notification blocked;
  p.Fetch(p.CallAsync({}, [&](Context& ctx, Done done) {
    CancellationManager& cancellation = *ctx.step().cancellation;
    auto d = std::make_shared<Done>(std::move(done));
    CancellationManager::Token token;
    ASSERT_TRUE(cancellation.Register([d, &cancellation] { std::move (*d)(cancellation.Reason()); },
                                      &token));
    blocked.Notify();
  }));
  const auto h = Make(p);
  CancellationManager cancellation;
  Tensor out;
  std::thread canceller([&] {
    blocked.Wait();
    cancellation.Cancel(DeadlineExceeded("too late"));
  });
  const Status status = h->RunStep({}, {&out, 1}, cancellation);
  canceller.join();
  EXPECT_EQ(status.code(), Code::kDeadlineExceeded);
  EXPECT_THAT(status.ToString(), HasSubstr("too late"));
}

TEST_P(ExecutorTest, CancelEndsAnEndlessLoop) {
  TestProgram p;
  Notification running;
  std::atomic<bool> told{false};
  const Value limit = p.Const(std::numeric_limits<int64_t>::max()), one = p.Const(1);
  p.While(
      "loop", {p.Const(0)},
      [&](const auto& v) { return p.Less(v[0], p.Enter(limit, "loop", true)); },
      [&](const auto& v) {
        return std::vector<Value>{p.Call({p.Add(v[0], one)}, [&](Context& ctx) {
          if (!told.exchange(true)) running.Notify();
          ctx.set_output(0, ctx.input(0));
          return OkStatus();
        })};
      });
  const auto h = Make(p);
  CancellationManager cancellation;
  std::thread canceller([&] {
    running.Wait();
    cancellation.Cancel(Cancelled("enough"));
  });
  EXPECT_EQ(h->RunStep({}, {}, cancellation).message(), "enough");
  canceller.join();
}

TEST_P(ExecutorTest, AStepCancelledBeforeItBeganRunsNothing) {
  TestProgram p;
  p.Call({}, [](Context&) -> Status {
    ADD_FAILURE();
    return OkStatus();
  });
  const auto h = Make(p);
  CancellationManager cancellation;
  cancellation.Cancel();
  EXPECT_EQ(h->RunStep({}, {}, cancellation).code(), Code::kCancelled);
}

TEST_P(ExecutorTest, AReferenceIsReadWhereTheReaderWantsAValue) {
  TestProgram p;
  const RefPtr<Variable> variable = RefPtr<Variable>::Adopt(
      std::make_unique<Variable>("v", DType::kInt64, PartialShape()).release());
  const Value reference = p.Call({}, [&](Context& ctx) {
    ctx.set_output(0, Tensor::Reference(RefPtr<Resource>::Share(variable.get()), DType::kInt64));
    return OkStatus();
  });
  const Value assigned = p.Call({reference}, [](Context& ctx) -> Status {
    ASSIGN_OR_RETURN(RefPtr<Variable> v, VariableOf(ctx, 0));
    ASSIGN_OR_RETURN(const Tensor old, v->Read());
    return v->Assign(Tensor::Scalar<int64_t>(old.scalar<int64_t>() + 1));
  });
  p.last().num_outputs = 0;
  Value read = reference;
  read.read_reference = true;
  const Value sum = p.Add(read, read);
  p.last().control_inputs = {assigned.node};
  p.Fetch(sum);
  p.Fetch(read);
  const auto h = Make(p);
  EXPECT_EQ(h->Run().status().code(), Code::kFailedPrecondition);
  ASSERT_TRUE(variable->Assign(Tensor::Scalar<int64_t>(4)).ok());
  EXPECT_THAT(*h->Run(), ElementsAre(10, 5));
}

TEST_P(ExecutorTest, StepsOfOnePlanRunAtTheSameTime) {
  TestProgram p;
  const Value start = p.Feed(), limit = p.Feed();
  Value v = Count(p, start, limit);
  v = p.Call({v}, [](Context& ctx) {
    ctx.set_output(0, ctx.input(0));
    return OkStatus();
  });
  p.last().heavy = true;
  p.Fetch(v);
  const auto h = Make(p);
  std::vector<std::thread> callers;
  for (int64_t t = 0; t < 4; ++t) {
    callers.emplace_back([&, t] {
      for (int64_t i = 0; i < 50; ++i)
        EXPECT_THAT(*h->Run({0, t * 10 + i}), ElementsAre(t * 10 + i));
    });
  }
  for (std::thread& caller : callers) caller.join();
}

// The receive ends only when the heavy node at the end of a chain beside it has run.
TEST_P(ExecutorTest, NoNodeWaitsForAGateThatIsNotUpstreamOfIt) {
  TestProgram p;
  Notification ran;
  const Value x = p.Feed();
  std::thread sender;
  const Value received = p.CallAsync({}, [&](Context& ctx, Done done) {
    ctx.set_output(0, Tensor::Scalar<int64_t>(1));
    sender = std::thread([&ran, d = std::make_shared<Done>(std::move(done))] {
      ran.Wait();
      std::move (*d)(OkStatus());
    });
  });
  Value chain = x;
  for (int i = 0; i < 10; ++i) chain = p.Add(chain, x);
  const Value heavy = p.Call({chain}, [&](Context& ctx) {
    ran.Notify();
    ctx.set_output(0, ctx.input(0));
    return OkStatus();
  });
  p.last().heavy = true;
  p.Fetch(p.Add(p.Add(received, chain), heavy));
  EXPECT_THAT(*Run(p, {1}), ElementsAre(23));
  sender.join();
}

// A reader that may work in place gets the buffer only when it is the last.
TEST_P(ExecutorTest, TakeNeverSucceedsWhileAnotherReaderExists) {
  TestProgram p;
  const Value x = p.Feed();
  const Value buffer = p.Call({x}, [](Context& ctx) -> Status {
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, DType::kInt64, Shape{100}));
    std::fill_n(out->mutable_data<int64_t>(), 100, ctx.input(0).scalar<int64_t>());
    return OkStatus();
  });
  std::atomic<int> taken{0};
  const auto poison = [&taken](Context& ctx) -> Status {
    const int64_t value = ctx.input(0).data<int64_t>()[99];
    const void* before = ctx.input(0).raw_data();
    ASSIGN_OR_RETURN(Tensor * out, ctx.TakeOrAllocateOutput({0}, 0, DType::kInt64, Shape{100}));
    taken += out->raw_data() == before;
    std::fill_n(out->mutable_data<int64_t>(), 100, value + 1);
    return OkStatus();
  };
  Value sum = x;
  for (int i = 0; i < 8; ++i) {
    Value v = p.Call({buffer}, poison);
    p.last().heavy = i % 2 == 0;
    for (int k = 0; k < 3; ++k) v = p.Call({v}, poison);
    sum = p.Add(sum, v);
  }
  p.Fetch(sum);
  const auto h = Make(p);
  for (int64_t round = 0; round < 5; ++round) {
    EXPECT_THAT(*h->Run({round}), ElementsAre(round + 8 * (round + 4)));
    EXPECT_EQ(h->bytes_in_use(), 0);
  }
  // A chain of its own works in place throughout, except where the buffer is shared.
  if (!GetParam().plain) {
    // With one thread the last of the eight readers gets the buffer itself.
    EXPECT_GE(taken, 5 * (GetParam().threads == 0 ? 25 : 24));
  }
  EXPECT_LE(taken, 5 * 25);
}

TEST_P(ExecutorTest, ANodeThatReadsAValueTwiceDoesNotTakeIt) {
  TestProgram p;
  const Value buffer = p.Call({p.Feed()}, [](Context& ctx) -> Status {
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, DType::kInt64, Shape{100}));
    std::fill_n(out->mutable_data<int64_t>(), 100, ctx.input(0).scalar<int64_t>());
    return OkStatus();
  });
  p.Fetch(p.Call({buffer, buffer}, [](Context& ctx) -> Status {
    EXPECT_TRUE(ctx.TakeInput(0).empty());
    EXPECT_TRUE(ctx.TakeInput(1).empty());
    ctx.set_output(0,
                   Tensor::Scalar(ctx.input(0).scalar<int64_t>() + ctx.input(1).scalar<int64_t>()));
    return OkStatus();
  }));
  if (!GetParam().plain) {
    const auto h = Make(p);
    EXPECT_THAT(*h->Run({3}), ElementsAre(6));
    EXPECT_EQ(h->bytes_in_use(), 0);
  }
}

TEST_P(ExecutorTest, ANestedRunInAKernelKeepsItsOwnValues) {
  TestProgram inner;
  inner.Fetch(Count(inner, inner.Feed(), inner.Feed()));
  const auto inner_harness = Make(inner);
  TestProgram p;
  const Value x = p.Feed();
  const Value y = p.Add(x, p.Const(1));
  const Value z = p.Call({y}, [&](Context& ctx) {
    ctx.set_output(0,
                   Tensor::Scalar((*inner_harness->Run({0, ctx.input(0).scalar<int64_t>()}))[0]));
    return OkStatus();
  });
  p.Fetch(p.Add(p.Add(z, y), x));
  EXPECT_THAT(*Run(p, {10}), ElementsAre(32));
}

TEST_P(ExecutorTest, ATraceHasEveryNodeThatRan) {
  TestProgram p;
  const Value x = p.Feed();
  const TestProgram::Sides sides = p.Switch(x, p.Less(x, p.Const(10)));
  const Value yes = p.Identity(sides.yes);
  const Value no = p.Identity(sides.no);
  p.Fetch(p.Merge({no, yes}));
  p.Fetch(Count(p, x, p.Const(5)));
  const auto h = Make(p);
  StepTrace trace;
  CancellationManager cancellation;
  const Tensor feed = Tensor::Scalar<int64_t>(1);
  Tensor out[2];
  ASSERT_TRUE(h->RunStep({&feed, 1}, out, cancellation, &trace).ok());
  std::vector<int> runs(h->executor().program().nodes.size());
  for (const NodeRecord& record : trace.TakeRecords()) {
    ++runs[record.node];
    EXPECT_GT(record.start_nanos, 0);
    EXPECT_LE(record.start_nanos, record.end_nanos);
  }
  for (size_t i = 0; i < runs.size(); ++i) {
    const ProgramNode& node = h->executor().program().nodes[i];
    if (node.kernel == nullptr) continue;
    const bool in_loop = static_cast<int>(i) > no.node;
    const int expected = !in_loop ? (static_cast<int>(i) != no.node) : node.op == "Less" ? 5 : 4;
    EXPECT_EQ(runs[i], expected) << node.Label();
  }
}

// No thread ran it all the while: what becomes of its thread is told of others.
TEST_P(ExecutorTest, ATraceSaysWhichKernelsWereAsynchronous) {
  TestProgram p;
  const Value x = p.Feed();
  const Value y = p.CallAsync({x}, [](Context& ctx, Done done) {
    ctx.set_output(0, ctx.input(0));
    std::move(done)(OkStatus());
  });
  p.Fetch(p.Add(y, x));
  const auto h = Make(p);
  StepTrace trace;
  CancellationManager cancellation;
  const Tensor feed = Tensor::Scalar<int64_t>(1);
  Tensor out;
  ASSERT_TRUE(h->RunStep({&feed, 1}, {&out, 1}, cancellation, &trace).ok());
  const std::vector<NodeRecord> records = trace.TakeRecords();
  ASSERT_EQ(records.size(), 2u);
  for (const NodeRecord& record : records) EXPECT_EQ(record.has_no_thread, record.node == y.node);
}

TEST_P(ExecutorTest, AChainOfAHundredThousandNodes) {
  constexpr int kNodes = kSanitized ? 10'000 : 100'000;  // in each world
  TestProgram p;
  Value v = p.Feed();
  const Value one = p.Const(1);
  for (int i = 0; i < kNodes; ++i) v = p.Add(v, one);
  p.Fetch(v);
  EXPECT_THAT(*Run(p, {0}), ElementsAre(kNodes));
}

INSTANTIATE_TEST_SUITE_P(Worlds, ExecutorTest,
                         ::testing::Values(World{"plain", true, 0}, World{"caller_alone", false, 0},
                                           World{"one_helper", false, 1},
                                           World{"four_helpers", false, 4},
                                           World{"no_basic_blocks", false, 0, false, true},
                                           World{"general_loops", false, 0, true, false},
                                           World{"single_nodes", false, 2, false, false}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace thalweg
