// SPDX-License-Identifier: Apache-2.0
// Which conditionals become jumps, and that all of them mean what they mean in the plain executor.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thalweg/base/thread_pool.h"
#include "thalweg/executor/plan.h"
#include "thalweg/executor/test_program.h"
#include "thalweg/testing/plain_executor.h"

namespace thalweg {
namespace {

using Build = std::function<void(TestProgram&)>;
using Sides = TestProgram::Sides;

Program Built(const Build& build) {
  TestProgram p;
  build(p);
  return p.Take();
}

int Branches(const Build& build, const CompileOptions& options = {}) {
  const Result<Plan> plan = Compile(Built(build), options);
  EXPECT_TRUE(plan.ok()) << plan.status().ToString();
  int count = 0;
  for (const Instr& instr : plan->code) count += instr.opcode == Opcode::kBranch;
  return count;
}

// Runs the program for one feed after the other, in several ways; its plan has so many branches.
void ExpectMeansTheSame(const Build& build, int branches,
                        const std::vector<int64_t>& feeds = {0, 1, 2, 3, 5, 8, 13}) {
  EXPECT_EQ(Branches(build), branches);
  EXPECT_EQ(Branches(build, {.structured_loops = false}), 0);
  ThreadPool pool({.threads = 2});
  Harness plain(Built(build), MakePlainExecutor, &pool);
  for (const ExecutorOptions& options :
       {ExecutorOptions{}, ExecutorOptions{.basic_blocks = false}, ExecutorOptions{.threads = 2}}) {
    Harness real(
        Built(build), [&](Program program) { return MakeExecutor(std::move(program), options); },
        &pool);
    for (const int64_t feed : feeds) {
      const auto expected = plain.Run({feed}), got = real.Run({feed});
      ASSERT_EQ(got.status().ToString(), expected.status().ToString()) << feed;
      if (got.ok()) {
        EXPECT_EQ(*got, *expected) << feed;
      }
      EXPECT_EQ(real.bytes_in_use(), 0) << feed;
    }
  }
}

// Some work on a buffer, in place where that is allowed.
Value Work(TestProgram& p, Value a, int64_t add, std::vector<int> before = {}) {
  return p.Call(
      {a},
      [add](Context& ctx) -> Status {
        if (ctx.input(0).empty()) return Internal("the input of a live call is dead");
        const int64_t sum = ctx.input(0).scalar<int64_t>() + add;
        ASSIGN_OR_RETURN(Tensor * out, ctx.TakeOrAllocateOutput({0}, 0, DType::kInt64, Shape{100}));
        std::fill_n(out->mutable_data<int64_t>(), 100, sum);
        return OkStatus();
      },
      std::move(before));
}

// Seven rounds of `body` with the fed value as start.
void InALoop(TestProgram& p, const std::function<Value(Value)>& body) {
  const Value start = p.Feed(), zero = p.Const(0), one = p.Const(1), seven = p.Const(7);
  p.Fetch(p.While(
      "loop", {zero, Work(p, start, 0)}, [&](const auto& v) { return p.Less(v[0], seven); },
      [&](const auto& v) {
        return std::vector<Value>{p.Add(v[0], one), body(v[1])};
      })[1]);
}

// Once in the root frame and once in a loop.
void ExpectInBothPlaces(const std::function<Value(TestProgram&, Value)>& body, int branches) {
  const auto in_root = [&](TestProgram& p) { p.Fetch(body(p, Work(p, p.Feed(), 0))); };
  const auto in_loop = [&](TestProgram& p) { InALoop(p, [&](Value v) { return body(p, v); }); };
  ExpectMeansTheSame(in_root, branches);
  ExpectMeansTheSame(in_loop, branches);
}

TEST(CondTest, ADiamondIsOneBranch) {
  ExpectInBothPlaces(
      [](TestProgram& p, Value x) {
        const Sides s = p.Switch(x, p.Less(x, p.Const(5)));
        return p.Merge({Work(p, s.no, 1), Work(p, s.yes, 100)});
      },
      1);
}

TEST(CondTest, ASideMayBeEmptyAndAMergeMayNameItsInputInAnyOrder) {
  ExpectInBothPlaces(
      [](TestProgram& p, Value x) {
        const Sides s = p.Switch(x, p.Less(x, p.Const(5)));
        const Value a = p.Merge({s.yes, Work(p, s.no, 1)});
        const Sides t = p.Switch(a, p.Less(a, p.Const(7)));
        return p.Merge({t.no, t.yes});
      },
      2);
}

TEST(CondTest, SeveralSwitchesOfOnePredicateAndSeveralMergesAreOneBranch) {
  ExpectInBothPlaces(
      [](TestProgram& p, Value x) {
        const Value small = p.Less(x, p.Const(5)), y = Work(p, x, 3);
        const Sides a = p.Switch(x, small), b = p.Switch(y, small), c = p.Switch(small, small);
        const int pivot = p.Identity(c.yes).node;
        const Value constant = p.ConstAfter(40, {pivot});
        const Value sum = p.Add(p.Add(a.yes, b.yes), constant);
        // The sides swap what they got.
        const Value first = p.Merge({a.no, b.yes}), second = p.Merge({b.no, a.yes});
        const Value third = p.Merge({Work(p, a.no, 2), sum});
        const Value joined = p.Add(p.Add(first, first), p.Add(second, third));
        const Value index = p.Call({{third.node, 1}}, [](Context& ctx) {
          ctx.set_output(0, Tensor::Scalar<int64_t>(ctx.input(0).scalar<int32_t>()));
          return OkStatus();
        });
        return Work(p, p.Add(joined, index), 0);
      },
      1);
}

TEST(CondTest, APredicateBehindIdentitiesIsTheSame) {
  ExpectInBothPlaces(
      [](TestProgram& p, Value x) {
        const Value small = p.Less(x, p.Const(5)), again = p.Identity(small);
        const Sides pivots = p.Switch(small, small), a = p.Switch(x, p.Identity(again));
        const Value more = p.ConstAfter(40, {p.Identity(pivots.yes).node});
        const Value less = p.ConstAfter(-3, {p.Identity(pivots.no).node});
        return Work(p, p.Merge({p.Add(a.no, less), p.Add(a.yes, more)}), 0);
      },
      1);
}

TEST(CondTest, CondsInCondsAreBranches) {
  ExpectInBothPlaces(
      [](TestProgram& p, Value x) {
        const Sides s = p.Switch(x, p.Less(x, p.Const(6)));
        const Sides t = p.Switch(s.yes, p.Less(s.yes, p.Const(3)));
        const Value inner = p.Merge({Work(p, t.no, 10), t.yes});
        // Waits for what is inside, whatever side ran.
        const Value behind = Work(p, inner, 1, {t.node, inner.node});
        const Sides u = p.Switch(behind, p.Less(s.yes, p.Const(4)));
        const Value both = p.Merge({u.no, Work(p, u.yes, 5)});
        return p.Merge({Work(p, s.no, -4), p.Add(both, inner)});
      },
      3);
}

TEST(CondTest, OneAfterTheOtherOnOnePredicate) {
  ExpectInBothPlaces(
      [](TestProgram& p, Value x) {
        const Value small = p.Less(x, p.Const(5));
        Value v = x;
        for (int i = 0; i < 3; ++i) {
          const Sides s = p.Switch(v, small);
          v = Work(p, p.Merge({Work(p, s.no, 1), Work(p, s.yes, 2)}), i);
        }
        return v;
      },
      3);
}

TEST(CondTest, ALoopInABranch) {
  ExpectInBothPlaces(
      [](TestProgram& p, Value x) {
        const Sides s = p.Switch(x, p.Less(x, p.Const(5)));
        const Value limit = p.Add(s.yes, p.ConstAfter(4, {p.Identity(s.yes).node}));
        const Value one = p.Const(1);
        const Value counted = p.While(
            "inner", {s.yes},
            [&](const auto& v) { return p.Less(v[0], p.Enter(limit, "inner", true)); },
            [&](const auto& v) { return std::vector<Value>{p.Add(v[0], one)}; })[0];
        return p.Merge({s.no, counted});
      },
      1);
}

TEST(CondTest, ABranchReadsWhatIsThereWithoutASwitch) {
  ExpectInBothPlaces(
      [](TestProgram& p, Value x) {
        const Value y = Work(p, x, 3);
        const Sides s = p.Switch(x, p.Less(x, p.Const(5)));
        const Value no = p.Add(s.no, y), yes = Work(p, p.Add(y, s.yes), 1, {y.node});
        return p.Merge({no, yes});
      },
      1);
}

TEST(CondTest, WhatIsReadFromOutsideKeepsItsSwitches) {
  ExpectInBothPlaces(
      [](TestProgram& p, Value x) {
        const Sides s = p.Switch(x, p.Less(x, p.Const(5)));
        const Value yes = Work(p, s.yes, 100), merged = p.Merge({Work(p, s.no, 1), yes});
        // Dead where the other side is taken, and joined with a third that is not.
        const Value outside = Work(p, p.Add(yes, x), 1);
        const Sides t = p.Switch(merged, p.Less(x, p.Const(5)));
        return p.Merge({t.no, outside});
      },
      0);
}

TEST(CondTest, AMergeOfOneSideIsNoEnd) {
  const auto build = [](TestProgram& p) {
    const Value x = p.Feed();
    const Sides s = p.Switch(x, p.Less(x, p.Const(5)));
    p.Fetch(p.Merge({Work(p, s.no, 1), p.Merge({s.yes})}));
  };
  ExpectMeansTheSame(build, 0);
}

TEST(CondTest, WhatCanBeDeadOrLateOnItsOwnKeepsItsSwitches) {
  const auto late = [](TestProgram& p, bool heavy) {
    const Value x = p.Feed(), small = p.Less(x, p.Const(5));
    const Value slow = Work(p, x, 3);
    p.last().heavy = heavy;
    const Sides a = p.Switch(x, small), b = p.Switch(slow, small);
    p.Fetch(p.Merge({a.no, p.Add(a.yes, b.yes)}));
  };
  const auto with = [&](bool heavy) { return [&, heavy](TestProgram& p) { late(p, heavy); }; };
  EXPECT_EQ(Branches(with(false), {.threads = 2}), 1);
  EXPECT_EQ(Branches(with(true), {.threads = 2}), 0);
  ExpectMeansTheSame(with(true), 1);
  const auto dead = [](TestProgram& p) {
    const Value x = p.Feed();
    const Sides other = p.Switch(x, p.Less(x, p.Const(2)));
    const Sides s = p.Switch(x, p.Less(x, p.Const(5)));
    // Both sides of the second can be dead where the first says so.
    const Value yes = p.Add(s.yes, other.no);
    p.Fetch(p.Merge({p.Merge({s.no, yes}), Work(p, other.yes, 70)}));
  };
  ExpectMeansTheSame(dead, 0);
}

TEST(CondTest, HeavyAndAsynchronousNodesAreNotForBranches) {
  const auto build = [](TestProgram& p) {
    const Value x = p.Feed();
    const Sides s = p.Switch(x, p.Less(x, p.Const(5)));
    const Value heavy = Work(p, s.no, 1);
    p.last().heavy = true;
    p.Fetch(p.Merge({heavy, Work(p, s.yes, 100)}));
  };
  EXPECT_EQ(Branches(build, {.threads = 2}), 0);
  ExpectMeansTheSame(build, 1);
  ExpectInBothPlaces(
      [](TestProgram& p, Value x) {
        const Sides s = p.Switch(x, p.Less(x, p.Const(5)));
        const Value async = p.CallAsync({s.no}, [](Context& ctx, Done done) {
          ctx.set_output(0, Tensor::Scalar(ctx.input(0).scalar<int64_t>() + 1));
          std::move(done)(OkStatus());
        });
        return p.Merge({async, Work(p, s.yes, 100)});
      },
      0);
}

TEST(CondTest, ABranchIsNoWayRoundForAValueThatComesBack) {
  ExpectInBothPlaces(
      [](TestProgram& p, Value x) {
        const Value small = p.Less(x, p.Const(5));
        const Sides a = p.Switch(x, small);
        const Value first = p.Merge({a.no, Work(p, a.yes, 1)});
        // Goes in again, and meets there what went in before.
        const Sides b = p.Switch(Work(p, first, 2), small);
        return p.Merge({b.no, p.Add(a.yes, b.yes)});
      },
      0);
}

TEST(CondTest, ABufferThatABranchReadsLastIsTakenThere) {
  for (const int64_t feed : {1, 9}) {
    int taken = 0;
    const auto take = [&taken](Context& ctx) -> Status {
      taken += !ctx.TakeInput(0).empty();
      ctx.set_output(0, Tensor::Scalar<int64_t>(1));
      return OkStatus();
    };
    const auto build = [&](TestProgram& p) {
      const Value x = p.Feed();
      const Value buffer = Work(p, x, 1);
      const Sides s = p.Switch(buffer, p.Less(x, p.Const(5)));
      p.Fetch(p.Merge({p.Call({s.no}, take), p.Call({s.yes}, take)}));
    };
    Harness harness(Built(build), [](Program q) { return MakeExecutor(std::move(q), {}); });
    ASSERT_TRUE(harness.Run({feed}).ok());
    EXPECT_EQ(taken, 1) << feed;
    EXPECT_EQ(harness.bytes_in_use(), 0);
  }
}

TEST(CondTest, AnErrorInABranchNamesItsNodeAndThePlanWorksInTheNextStep) {
  const auto build = [](TestProgram& p) {
    InALoop(p, [&](Value v) {
      const Sides s = p.Switch(v, p.Less(v, p.Const(5)));
      const Value no = p.Call({s.no}, [](Context& ctx) -> Status {
        if (ctx.input(0).scalar<int64_t>() > 90) return Aborted("too much");
        ctx.set_output(0, ctx.input(0));
        return OkStatus();
      });
      p.last().name = "no";
      return p.Merge({no, Work(p, s.yes, 1)});
    });
  };
  Harness harness(Built(build), [](Program q) { return MakeExecutor(std::move(q), {}); });
  EXPECT_EQ(Branches(build), 1);
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(*harness.Run({1}), std::vector<int64_t>{5});
    EXPECT_THAT(harness.Run({100}).status().ToString(),
                ::testing::HasSubstr("too much\n\t [[Call 'no'; inputs: int64[100]]]"));
    EXPECT_EQ(harness.bytes_in_use(), 0);
  }
}

TEST(CondTest, APredicateMustBeOneBool) {
  const auto build = [](TestProgram& p) {
    const Value x = p.Feed();
    const Sides s = p.Switch(x, x);
    p.Fetch(p.Merge({s.no, s.yes}));
  };
  EXPECT_EQ(Branches(build), 1);
  Harness harness(Built(build), [](Program q) { return MakeExecutor(std::move(q), {}); });
  const Status status = harness.Run({1}).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.ToString(), ::testing::HasSubstr("a predicate is one bool, got int64[]"));
}

TEST(CondTest, AThousandCondsInEachOtherCompile) {
  const auto build = [](TestProgram& p) {
    const Value x = p.Feed();
    std::vector<Value> no;
    Value v = x;
    for (int i = 0; i < 1000; ++i) {
      const Sides s = p.Switch(v, p.Less(v, p.Const(i)));
      no.push_back(s.no);
      v = p.Add(s.yes, p.ConstAfter(1, {p.Identity(s.yes).node}));
    }
    for (int i = 1000; i-- > 0;) v = p.Merge({no[i], v});
    p.Fetch(v);
  };
  // What keeps its Switches inside keeps them outside: a few of the innermost are branches.
  ExpectMeansTheSame(build, 10, {0, 500, 2000});
}

}  // namespace
}  // namespace thalweg
