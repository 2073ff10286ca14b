// SPDX-License-Identifier: Apache-2.0
// What the compiler makes of programs: basic blocks, loops, registers, signals.
#include "thalweg/executor/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "thalweg/executor/conditionals.h"
#include "thalweg/executor/test_program.h"
#include "thalweg/executor/units.h"
#include "thalweg/testing/sanitized.h"

namespace thalweg {
namespace {

Plan Compiled(TestProgram& p, const CompileOptions& options = {}) {
  Result<Plan> plan = Compile(p.Take(), options);
  EXPECT_TRUE(plan.ok()) << plan.status().ToString();
  return *std::move(plan);
}

Value Count(TestProgram& p, Value start, Value limit) {
  const Value one = p.Const(1);
  return p.While(
      "loop", {start}, [&](const auto& v) { return p.Less(v[0], p.Enter(limit, "loop", true)); },
      [&](const auto& v) { return std::vector<Value>{p.Add(v[0], one)}; })[0];
}

TEST(PlanTest, CheapNodesAreOneBasicBlockWithFewRegisters) {
  TestProgram p;
  Value v = p.Feed();
  for (int i = 0; i < 1000; ++i) v = p.Add(v, v);
  p.Fetch(v);
  const Plan plan = Compiled(p);
  ASSERT_EQ(plan.frames[0].units.size(), 1u);
  EXPECT_EQ(plan.frames[0].units[0].registers, 2u);
  EXPECT_EQ(plan.frames[0].num_slots, 1u);  // the fetch
}

TEST(PlanTest, WithoutStripsEveryNodeIsAUnit) {
  TestProgram p;
  Value v = p.Feed();
  for (int i = 0; i < 100; ++i) v = p.Add(v, v);
  EXPECT_EQ(Compiled(p, {.basic_blocks = false}).frames[0].units.size(), 100u);
}

TEST(PlanTest, HeavyAndAsyncNodesStandAlone) {
  TestProgram p;
  const Value x = p.Feed();
  const Value a = p.Add(x, x);
  const Value heavy = p.Add(a, x);
  p.last().heavy = true;
  const Value async = p.CallAsync({a}, [](Context&, Done done) { std::move(done)(OkStatus()); });
  p.Add(p.Add(heavy, async), x);
  const Plan plan = Compiled(p, {.threads = 2});
  std::vector<UnitClass> classes;
  for (const Unit& unit : plan.frames[0].units) classes.push_back(unit.cls);
  EXPECT_THAT(classes, ::testing::UnorderedElementsAre(UnitClass::kBasicBlock, UnitClass::kHeavy,
                                                       UnitClass::kAsync, UnitClass::kBasicBlock));
  EXPECT_TRUE(plan.is_parallel);
}

TEST(PlanTest, ALongBasicBlockIsCutByCostWhereThreadsCanHelp) {
  for (const int threads : {0, 2}) {
    TestProgram p;
    Value v = p.Feed();
    for (int i = 0; i < 100; ++i) {
      v = p.Add(v, v);
      p.last().micros = 1;
    }
    p.Fetch(v);
    const Plan plan = Compiled(p, {.threads = threads});
    EXPECT_EQ(plan.frames[0].units.size(), threads == 0 ? 1u : 5u);
    EXPECT_EQ(plan.is_parallel, threads != 0);
  }
}

TEST(PlanTest, ALoopOfCheapNodesIsOneInstruction) {
  TestProgram p;
  const Value start = p.Feed(), limit = p.Feed();
  p.Fetch(Count(p, start, limit));
  const Plan plan = Compiled(p);
  EXPECT_EQ(plan.loops.size(), 1u);
  EXPECT_EQ(plan.frames[0].units.size(), 1u);
  TestProgram q;
  const Value start2 = q.Feed(), limit2 = q.Feed();
  q.Fetch(Count(q, start2, limit2));
  const Plan general = Compiled(q, {.structured_loops = false});
  EXPECT_EQ(general.loops.size(), 0u);
  EXPECT_GT(general.frames[1].units.size(), 0u);
}

// `body` makes the new values of two variables from the old ones; a heavy node takes 10 us.
size_t NumLoopInstructions(
    const std::function<std::vector<Value>(TestProgram&, const std::vector<Value>&)>& body) {
  TestProgram p;
  const Value x = p.Feed(), limit = p.Feed(), one = p.Const(1), zero = p.Const(0);
  const std::vector<Value> out = p.While(
      "loop", {zero, x, x},
      [&](const auto& v) { return p.Less(v[0], p.Enter(limit, "loop", true)); },
      [&](const auto& v) {
        std::vector<Value> next = body(p, {v[1], v[2]});
        next.insert(next.begin(), p.Add(v[0], one));
        return next;
      });
  p.Fetch(p.Add(out[1], out[2]));
  return Compiled(p, {.threads = 2}).loops.size();
}

Value Heavy(TestProgram& p, Value a, Value b) {
  const Value v = p.Add(a, b);
  p.last().heavy = true;
  p.last().micros = 10;
  return v;
}

TEST(PlanTest, ALoopOfHeavyNodesThatWaitForEachOtherIsOneInstruction) {
  using Values = std::vector<Value>;
  EXPECT_EQ(NumLoopInstructions([](TestProgram& p, const Values& v) {
              return Values{Heavy(p, Heavy(p, v[0], v[0]), v[1]), v[1]};
            }),
            1u);
  // Both from the old values.
  EXPECT_EQ(NumLoopInstructions([](TestProgram& p, const Values& v) {
              return Values{Heavy(p, v[0], v[0]), Heavy(p, v[1], v[1])};
            }),
            0u);
  // The next iteration's does not wait for this one's, only their sum does.
  EXPECT_EQ(NumLoopInstructions([](TestProgram& p, const Values& v) {
              return Values{p.Add(v[0], Heavy(p, v[1], v[1])), p.Add(v[1], v[1])};
            }),
            0u);
  // As much to do beside it.
  EXPECT_EQ(NumLoopInstructions([](TestProgram& p, const Values& v) {
              Value beside = v[1];
              for (int i = 0; i < 11; ++i) {
                beside = p.Add(beside, v[1]);
                p.last().micros = 1;
              }
              return Values{Heavy(p, v[0], v[0]), beside};
            }),
            0u);
}

TEST(PlanTest, ALoopThatCanBeHalfDeadTakesTheGeneralPath) {
  TestProgram p;
  const Value x = p.Feed();
  const TestProgram::Sides sides = p.Switch(x, p.Less(x, p.Const(10)));
  // The start dies with the branch, the limit does not.
  p.Fetch(p.Merge({sides.no, Count(p, p.Identity(sides.yes), x)}));
  EXPECT_EQ(Compiled(p).loops.size(), 0u);
  TestProgram q;
  const Value y = q.Feed();
  const TestProgram::Sides both = q.Switch(y, q.Less(y, q.Const(10)));
  const Value start = q.Identity(both.yes);
  q.Fetch(q.Merge({both.no, Count(q, start, q.Add(start, start))}));
  EXPECT_EQ(Compiled(q).loops.size(), 1u);
}

TEST(PlanTest, ASwapNeedsStagingAndAPassThroughNoMove) {
  TestProgram p;
  const Value a = p.Feed(), b = p.Feed(), limit = p.Feed(), one = p.Const(1), zero = p.Const(0);
  p.Fetch(p.While(
      "loop", {zero, a, b, limit}, [&](const auto& v) { return p.Less(v[0], v[3]); },
      [&](const auto& v) {
        return std::vector<Value>{p.Add(v[0], one), v[2], v[1], v[3]};
      },
      10, true)[1]);
  const Plan plan = Compiled(p);
  ASSERT_EQ(plan.loops.size(), 1u);
  EXPECT_EQ(plan.loops[0].moves.size(), 3u);
  EXPECT_NE(plan.loops[0].staging, kNone);
}

TEST(PlanTest, AMillionNodesCompile) {
  constexpr int kNodes = kSanitized ? 100'000 : 1'000'000;  // a million would take minutes
  TestProgram p;
  int last = p.NoOp({});
  for (int i = 1; i < kNodes; ++i) last = p.NoOp({last});
  EXPECT_EQ(Compiled(p).code.size(), static_cast<size_t>(kNodes));
}

// Units of a frame and the signals between them, Merges and Exits seen through.
bool IsAcyclic(const Lowered& lowered, const Units& units, int frame) {
  // An edge for every dependency of nodes that have units; other nodes pass on what they depend on.
  const size_t n = lowered.nodes.size();
  std::vector<std::vector<int>> readers(n + units.units[frame].size());
  std::vector<int> waits(readers.size());
  const auto vertex = [&](int node) {
    for (int cond = lowered.nodes[node].cond; cond >= 0; cond = lowered.nodes[cond].cond) {
      if (units.branches[lowered.nodes[cond].number]) node = cond;
    }
    return units.unit_of[node] >= 0 ? static_cast<int>(n) + units.unit_of[node] : node;
  };
  const auto edge = [&](int from, int to) {
    if (lowered.nodes[from].frame != frame || vertex(from) == vertex(to)) return;
    readers[vertex(from)].push_back(vertex(to));
    ++waits[vertex(to)];
  };
  for (size_t i = 0; i < n; ++i) {
    const LoweredNode& node = lowered.nodes[i];
    if (node.frame != frame) continue;
    const int to = static_cast<int>(i);
    for (const LoweredValue& input : node.inputs) {
      if (input.is_node()) edge(input.node, to);
    }
    for (const int before : node.controls) edge(before, to);
    for (const MergeInput& input : node.merge_inputs) {
      if (input.value.is_node() && input.next < 0) edge(input.value.node, to);
    }
    if (node.kind == LoweredKind::kExit) edge(lowered.frames[node.child].loop, to);
  }
  std::vector<int> ready;
  size_t seen = 0;
  for (size_t v = 0; v < waits.size(); ++v) {
    if (waits[v] == 0) ready.push_back(static_cast<int>(v));
  }
  while (!ready.empty()) {
    const int v = ready.back();
    ready.pop_back();
    ++seen;
    for (const int reader : readers[v]) {
      if (--waits[reader] == 0) ready.push_back(reader);
    }
  }
  return seen == waits.size();
}

// Two basic blocks that would wait for each other if readiness were not looked at.
TEST(UnitsTest, TheUnitGraphHasNoCycle) {
  constexpr uint32_t kSeeds = kSanitized ? 50 : 200;
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    TestProgram p;
    uint32_t state = seed * 2654435761u + 1;
    const auto below = [&](size_t n) {
      state = state * 1664525u + 1013904223u;
      return (state >> 8) % n;
    };
    std::vector<Value> values = {p.Feed(), p.Add(p.Const(1), p.Const(2))};
    for (int i = 0; i < 60; ++i) {
      const Value a = values[below(values.size())];
      const Value b = values[below(values.size())];
      switch (below(9)) {
        case 8: {
          const TestProgram::Sides sides = p.Switch(a, p.Less(b, p.Const(5)));
          values.push_back(p.Merge({p.Add(sides.no, a), p.Add(sides.yes, b)}));
          break;
        }
        case 0: {
          const TestProgram::Sides sides = p.Switch(a, p.Less(b, p.Const(3)));
          values.push_back(sides.no);
          values.push_back(sides.yes);
          break;
        }
        case 1:
          values.push_back(p.Merge({p.Identity(a), p.Identity(b)}));
          break;
        case 2:
          values.push_back(p.Add(a, b));
          p.last().heavy = true;
          break;
        default:
          values.push_back(p.Add(a, b));
          p.last().micros = static_cast<float>(below(10));
          break;
      }
    }
    const Program program = p.Take();
    for (const bool conditionals : {true, false}) {
      Lowered lowered = *Lower(program);
      if (conditionals) FindConditionals(2, &lowered);
      for (const bool basic_blocks : {true, false}) {
        const CompileOptions options{.threads = 2, .basic_blocks = basic_blocks};
        const Units units = FormUnits(lowered, FindLoops(lowered, 2), options);
        ASSERT_TRUE(IsAcyclic(lowered, units, 0)) << seed;
      }
    }
  }
}

}  // namespace
}  // namespace thalweg
