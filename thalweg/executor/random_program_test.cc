// SPDX-License-Identifier: Apache-2.0
// Random programs (dead values, nested loops, asynchronous kernels, failures, cancels) mean the
// same in the plain executor and in the real one, whatever is cut, compiled or shared.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <random>
#include <thread>

#include "thalweg/base/thread_pool.h"
#include "thalweg/executor/measured_executor.h"
#include "thalweg/executor/plan.h"
#include "thalweg/executor/test_program.h"
#include "thalweg/testing/plain_executor.h"
#include "thalweg/testing/sanitized.h"

namespace thalweg {
namespace {

// How often each call ran, by tag and value: no node runs twice for one tag, none runs in a dead
// basic block.
struct Journal {
  Mutex mutex;
  std::map<std::pair<int, uint64_t>, int64_t> calls GUARDED_BY(mutex);
  bool twice GUARDED_BY(mutex) = false;

  void Note(int call, uint64_t tag, int64_t value) {
    MutexLock lock(mutex);
    twice |= !calls.emplace(std::pair{call, tag}, value).second;
  }
};

constexpr int64_t kElements = 200;

class RandomProgram {
 public:
  struct Options {
    bool failures = false;
    bool async = true;
    ThreadPool* pool = nullptr;
  };

  RandomProgram(uint32_t seed, Journal* journal, const Options& options)
      : random_(seed), journal_(journal), options_(options) {
    std::vector<Value> values = {p_.Feed(), p_.Feed()};
    Region(&values, 0, 6 + Below(25));
    for (int i = 0; i < 3; ++i) p_.Fetch(Strict(values[values.size() - 1 - Below(2)]));
  }

  Program Take() { return p_.Take(); }

 private:
  int Below(int n) { return static_cast<int>(random_() % static_cast<uint32_t>(n)); }
  Value Any(const std::vector<Value>& values) {
    // Mostly young ones.
    const int n = static_cast<int>(values.size());
    return values[static_cast<size_t>(n - 1 - std::min(Below(n), Below(n)))];
  }

  // A value of a node, so that a dead one is found by the fetch.
  Value Strict(Value value) { return p_.Identity(value); }

  // A call that mixes its inputs, notes that it ran, and may be heavy, asynchronous or fail.
  Value Call(const std::vector<Value>& inputs, std::vector<int> before) {
    const int call = calls_++;
    const bool fails = options_.failures && Below(40) == 0;
    Journal* journal = journal_;
    const auto compute = [journal, call, fails](Context& ctx) -> Status {
      int64_t value = call;
      for (int i = 0; i < ctx.num_inputs(); ++i) {
        if (ctx.input(i).empty()) return Internal("an input of a live call is dead");
        value = (value * 31 + ctx.input(i).scalar<int64_t>()) % 1000003;
      }
      journal->Note(call, ctx.tag(), value);
      if (fails && value % 3 == 0) return Aborted("call ", call, " fails");
      if (call % 3 == 0) {
        ctx.set_output(0, Tensor::Scalar(value));
        return OkStatus();
      }
      // A buffer, in place where the executor allows it: a leak stays in the allocator, a buffer
      // that somebody else still reads gives wrong values.
      ASSIGN_OR_RETURN(Tensor * out,
                       ctx.TakeOrAllocateOutput({0}, 0, DType::kInt64, Shape{kElements}));
      std::fill_n(out->mutable_data<int64_t>(), kElements, value);
      return OkStatus();
    };
    if (options_.async && Below(8) == 0) {
      ThreadPool* pool = Below(2) == 0 ? options_.pool : nullptr;
      return p_.CallAsync(
          inputs,
          [compute, pool](Context& ctx, Done done) {
            if (pool == nullptr) return std::move(done)(compute(ctx));
            ScheduleClosure(*pool, [compute, &ctx, d = std::make_shared<Done>(std::move(done))] {
              std::move (*d)(compute(ctx));
            });
          },
          std::move(before));
    }
    const Value out = p_.Call(inputs, compute, std::move(before));
    p_.last().heavy = Below(5) == 0;
    p_.last().micros = static_cast<float>(Below(8));  // so that basic blocks are cut
    return out;
  }

  // Adds `size` things that read and extend `values`, all of one frame.
  void Region(std::vector<Value>* values, int depth, int size) {
    for (int i = 0; i < size; ++i) {
      const int kind = Below(20);
      if (kind < 12 || depth > 3) {
        std::vector<Value> inputs;
        for (int k = 1 + Below(3); k > 0; --k) inputs.push_back(Any(*values));
        std::vector<int> before;
        if (const Value v = Any(*values); Below(4) == 0 && !v.is_feed()) before.push_back(v.node);
        values->push_back(Call(inputs, std::move(before)));
      } else if (kind < 14) {
        Loose(values);
      } else if (kind < 17) {
        Cond(values, depth);
      } else {
        Loop(values, depth);
      }
    }
  }

  Value Predicate(const std::vector<Value>& values) {
    const Value data = Any(values);
    const Value out = p_.Call({data}, [](Context& ctx) {
      ctx.set_output(0, Tensor::Scalar(ctx.input(0).scalar<int64_t>() % 2 == 0));
      return OkStatus();
    });
    p_.last().heavy = Below(6) == 0;
    return out;
  }

  // Switches whose sides are merged without more ado, with others and with each other.
  void Loose(std::vector<Value>* values) {
    const TestProgram::Sides sides = p_.Switch(Any(*values), Predicate(*values));
    const Value no = Below(2) == 0 ? sides.no : Call({sides.no, Any(*values)}, {});
    const Value yes =
        Below(2) == 0 ? sides.yes : p_.ConstAfter(Below(100), {p_.Identity(sides.yes).node});
    const Value merged = p_.Merge({no, yes});
    if (Below(3) == 0) p_.last().control_inputs = {sides.node};
    values->push_back(merged);
  }

  void Cond(std::vector<Value>* values, int depth) {
    const Value predicate = Predicate(*values);
    std::vector<Value> sides[2];
    for (int k = 1 + Below(3); k > 0; --k) {
      const TestProgram::Sides s = p_.Switch(Any(*values), predicate);
      sides[0].push_back(s.no);
      sides[1].push_back(s.yes);
    }
    Value ends[2];
    for (int s = 0; s < 2; ++s) {
      std::vector<Value> inside = sides[s];
      if (Below(3) == 0) {
        const int pivot = p_.Identity(inside[0]).node;
        inside.push_back(p_.ConstAfter(Below(50), {pivot}));
      }
      Region(&inside, depth + 1, Below(5));
      ends[s] = inside.back();
    }
    values->push_back(p_.Merge({ends[0], ends[1]}));
  }

  void Loop(std::vector<Value>* values, int depth) {
    const std::string frame = StrCat("loop", loops_++);
    const int variables = 1 + Below(3);
    const int parallel = 1 + Below(4);
    const int trips = Below(5);
    const Value invariant = p_.Enter(Any(*values), frame, true, parallel);
    const bool plain = Below(2) == 0;  // a body without loops and conditionals
    // Everything that enters lives and dies with one value, or not.
    const bool tied = Below(3) != 0;
    const Value first = Any(*values);
    const auto zero = [](Context& ctx) {
      ctx.set_output(0, Tensor::Scalar<int64_t>(0));
      return OkStatus();
    };
    std::vector<Value> initial = {p_.Call({tied ? first : Any(*values)}, zero)};
    for (int k = 0; k < variables; ++k) {
      // An invariant of the loop around is alive in its last iteration too, when the body is dead.
      const bool half_dead = !loose_.empty() && Below(3) == 0;
      initial.push_back(half_dead ? loose_.back()
                        : tied    ? Call({first, Any(*values)}, {})
                                  : Any(*values));
    }
    const Value limit = p_.Const(trips), one = p_.Const(1);
    const std::vector<Value> exits = p_.While(
        frame, initial,
        [&](const std::vector<Value>& v) {
          if (Below(4) == 0) Call({v[0], v.back()}, {});
          return p_.Less(v[0], limit);
        },
        [&](const std::vector<Value>& v) {
          std::vector<Value> inside(v.begin() + 1, v.end());
          // With an invariant that can be dead on its own.
          if (Below(2) == 0) inside.push_back(Call({invariant, v[1]}, {}));
          loose_.push_back(invariant);
          if (plain) {
            for (int k = Below(4); k > 0; --k) inside.push_back(Call({Any(inside), v[1]}, {}));
          } else {
            Region(&inside, depth + 1, 1 + Below(4));
          }
          loose_.pop_back();
          std::vector<Value> next = {p_.Add(v[0], one)};
          for (int k = 0; k < variables; ++k) {
            next.push_back(Below(3) == 0 ? v[1 + Below(variables)] : Any(inside));
          }
          return next;
        },
        parallel);
    for (const Value& exit : exits) values->push_back(exit);
  }

  std::mt19937 random_;
  Journal* journal_;
  Options options_;
  TestProgram p_;
  int calls_ = 0;
  int loops_ = 0;
  std::vector<Value> loose_;  // invariants of the loops around
};

struct Outcome {
  Status status;
  std::vector<int64_t> values;
  std::map<std::pair<int, uint64_t>, int64_t> calls;
};

// On the threads of `queue`, or else of the pool.
Outcome RunOnce(uint32_t seed, const Harness::Make& make, ThreadPool& pool, bool failures,
                WorkQueue* queue = nullptr, int rounds = 2) {
  Journal journal;
  Harness harness(RandomProgram(seed, &journal, {.failures = failures, .pool = &pool}).Take(), make,
                  queue == nullptr ? &pool : queue);
  EXPECT_TRUE(harness.made().ok()) << seed << ": " << harness.made().ToString();
  Outcome outcome;
  // Several times: a step leaves nothing behind.
  for (int round = 0; round < rounds && harness.made().ok(); ++round) {
    {
      MutexLock lock(journal.mutex);
      journal.calls.clear();
    }
    Result<std::vector<int64_t>> values = harness.Run({static_cast<int64_t>(seed) + round % 2, 7});
    outcome.status = values.status();
    outcome.values = values.ok() ? *values : std::vector<int64_t>();
    EXPECT_EQ(harness.bytes_in_use(), 0) << seed << ": a buffer outlived the step";
  }
  MutexLock lock(journal.mutex);
  EXPECT_FALSE(journal.twice) << seed << ": a node ran twice for one tag";
  outcome.calls = journal.calls;
  return outcome;
}

struct World {
  const char* name;
  ExecutorOptions options;
};

class RandomProgramTest : public ::testing::TestWithParam<World> {};

Harness::Make Real(const ExecutorOptions& options) {
  return [options](Program program) { return MakeExecutor(std::move(program), options); };
}

// A quarter of the seeds under a sanitizer.
constexpr int kPart = kSanitized ? 4 : 1;

TEST_P(RandomProgramTest, MeansTheSameAsInThePlainExecutor) {
  ThreadPool pool({.threads = std::max(GetParam().options.threads, 1)});
  int live = 0;
  for (uint32_t seed = 0; seed < 200 / kPart; ++seed) {
    const Outcome expected = RunOnce(seed, MakePlainExecutor, pool, false);
    const Outcome got = RunOnce(seed, Real(GetParam().options), pool, false);
    ASSERT_EQ(got.status.ToString(), expected.status.ToString()) << seed;
    ASSERT_EQ(got.values, expected.values) << seed;
    ASSERT_EQ(got.calls, expected.calls) << seed;
    live += expected.status.ok();
  }
  EXPECT_GT(live, 50 / kPart);  // the rest fetches dead values
}

TEST_P(RandomProgramTest, FailsWhereThePlainExecutorFails) {
  ThreadPool pool({.threads = std::max(GetParam().options.threads, 1)});
  int failed = 0;
  for (uint32_t seed = 1000; seed < 1000 + 100 / kPart; ++seed) {
    const Outcome expected = RunOnce(seed, MakePlainExecutor, pool, true);
    const Outcome got = RunOnce(seed, Real(GetParam().options), pool, true);
    // Which of several failing nodes is first may differ; whether one fails does not.
    ASSERT_EQ(got.status.code(), expected.status.code()) << seed << got.status.ToString();
    failed += expected.status.code() == Code::kAborted;
    if (expected.status.ok()) {
      ASSERT_EQ(got.values, expected.values) << seed;
    }
  }
  EXPECT_GT(failed, 5 / kPart);
}

TEST_P(RandomProgramTest, ACancelAtAnyTimeEndsTheStepAndLeavesThePlanWhole) {
  ThreadPool pool({.threads = std::max(GetParam().options.threads, 1)});
  for (uint32_t seed = 2000; seed < 2000 + 30 / kPart; ++seed) {
    Journal journal;
    Harness harness(RandomProgram(seed, &journal, {.pool = &pool}).Take(), Real(GetParam().options),
                    &pool);
    const Outcome expected = RunOnce(seed, MakePlainExecutor, pool, false);
    const std::vector<Tensor> feeds = {Tensor::Scalar<int64_t>(seed + 1),
                                       Tensor::Scalar<int64_t>(7)};
    std::vector<Tensor> fetches(3);
    for (int round = 0; round < 5; ++round) {
      CancellationManager cancellation;
      std::thread canceller([&] { cancellation.Cancel(Cancelled("enough")); });
      const Status status = harness.RunStep(feeds, fetches, cancellation);
      canceller.join();
      if (!status.ok() && status.code() != Code::kCancelled) {
        ASSERT_EQ(status.ToString(), expected.status.ToString()) << seed;
      }
    }
    const Result<std::vector<int64_t>> after = harness.Run({static_cast<int64_t>(seed) + 1, 7});
    ASSERT_EQ(after.status().ToString(), expected.status.ToString()) << seed;
    if (after.ok()) {
      ASSERT_EQ(*after, expected.values) << seed;
    }
  }
}

// A unit is counted before another thread can see it, and whoever hands one over needs nothing of
// it any more: here it has always run before the hand-over returns.
TEST(RandomProgramDelayTest, WhatIsHandedOverMayEndBeforeItsGiverGoesOn) {
  ThreadPool pool({.threads = 1});
  HastyQueue hasty(3);
  for (uint32_t seed = 0; seed < 150 / kPart; ++seed) {
    const Outcome expected = RunOnce(seed, MakePlainExecutor, pool, false);
    const Outcome got = RunOnce(seed, Real({.threads = 3}), pool, false, &hasty);
    ASSERT_EQ(got.status.ToString(), expected.status.ToString()) << seed;
    ASSERT_EQ(got.values, expected.values) << seed;
    ASSERT_EQ(got.calls, expected.calls) << seed;
  }
}

// Every reading is later than the one before by a random span.
class ErraticClock : public SystemClock {
 public:
  TimePoint Now() const override {
    MutexLock lock(mutex_);
    now_ += std::chrono::nanoseconds(random_() % 8000);
    return now_;
  }

 private:
  mutable Mutex mutex_;
  mutable std::mt19937 random_ GUARDED_BY(mutex_);
  mutable TimePoint now_ GUARDED_BY(mutex_);
};

TEST(RandomProgramCostTest, MeansTheSameWhateverItsNodesWereMeasuredToCost) {
  ThreadPool pool({.threads = 1});
  HastyQueue hasty(2);
  ErraticClock clock;
  const auto measured = [&](Program program) {
    return MakeMeasuredExecutor(std::move(program), {.threads = 2}, &clock);
  };
  for (uint32_t seed = 0; seed < 100 / kPart; ++seed) {
    const Outcome expected = RunOnce(seed, MakePlainExecutor, pool, false);
    const Outcome got = RunOnce(seed, measured, pool, false, &hasty, 6);
    ASSERT_EQ(got.status.ToString(), expected.status.ToString()) << seed;
    ASSERT_EQ(got.values, expected.values) << seed;
    ASSERT_EQ(got.calls, expected.calls) << seed;
  }
}

// How many of the first programs have a conditional that is a jump, outside of loops and in them.
TEST(RandomProgramPlanTest, ManyConditionalsAreJumps) {
  int outside = 0, in_loops = 0;
  for (uint32_t seed = 0; seed < 200; ++seed) {
    Journal journal;
    const Result<Plan> plan = Compile(RandomProgram(seed, &journal, {}).Take(), {});
    ASSERT_TRUE(plan.ok()) << seed;
    const auto has_branch = [&](uint32_t begin, uint32_t end) {
      return std::any_of(plan->code.begin() + begin, plan->code.begin() + end,
                         [](const Instr& instr) { return instr.opcode == Opcode::kBranch; });
    };
    bool is_outside = false, is_in_loop = false;
    for (const FrameCode& frame : plan->frames) {
      for (const Unit& unit : frame.units) is_outside |= has_branch(unit.begin, unit.end);
    }
    for (const LoopCode& loop : plan->loops) {
      is_in_loop |= has_branch(loop.condition.begin, loop.condition.end) ||
                    has_branch(loop.body.begin, loop.body.end);
    }
    outside += is_outside;
    in_loops += is_in_loop;
  }
  EXPECT_GT(outside, 100);
  EXPECT_GT(in_loops, 20);
}

INSTANTIATE_TEST_SUITE_P(
    Worlds, RandomProgramTest,
    ::testing::Values(World{"caller_alone", {.threads = 0}}, World{"one_helper", {.threads = 1}},
                      World{"four_helpers", {.threads = 4}},
                      World{"no_basic_blocks", {.threads = 0, .basic_blocks = false}},
                      World{"general_loops", {.threads = 0, .structured_loops = false}},
                      World{"single_nodes",
                            {.threads = 3, .basic_blocks = false, .structured_loops = false}}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace thalweg
