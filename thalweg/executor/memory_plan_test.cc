// SPDX-License-Identifier: Apache-2.0
#include "thalweg/executor/memory_plan.h"

#include <gtest/gtest.h>

#include "thalweg/executor/test_program.h"

namespace thalweg {
namespace {

// Every value of the program that has a kernel takes 100 bytes, except those in `others`.
MemoryPlan PlanOf(TestProgram& p, const std::vector<std::pair<Value, int64_t>>& others = {},
                  ExecutorOptions options = {}) {
  const auto executor = *MakeExecutor(p.Take(), options);
  OutputBytes bytes;
  for (const ProgramNode& node : executor->program().nodes) {
    bytes.emplace_back(node.num_outputs, node.kernel == nullptr ? 0 : 100);
  }
  for (const auto& [value, size] : others) bytes[value.node][value.index] = size;
  return executor->PlanMemory(bytes);
}

Value Call(TestProgram& p, std::vector<Value> inputs) {
  return p.Call(std::move(inputs), [](Context&) { return OkStatus(); });
}

TEST(MemoryPlanTest, AChainHoldsTwo) {
  TestProgram p;
  Value v = p.Feed();
  for (int i = 0; i < 10; ++i) v = Call(p, {v});
  p.Fetch(v);
  EXPECT_EQ(PlanOf(p).peak_bytes, 200);
}

TEST(MemoryPlanTest, ThePeakIsWhereItIs) {
  TestProgram p;
  const Value a = Call(p, {p.Feed()});
  const Value large = Call(p, {a});
  const Value b = Call(p, {a, large});
  const Value end = Call(p, {b});
  p.Fetch(end);
  const MemoryPlan plan = PlanOf(p, {{large, 1000}});
  EXPECT_EQ(plan.peak_bytes, 1200);
  EXPECT_EQ(plan.peak_node, b.node);
  EXPECT_EQ(plan.unknown_values, 0);
}

TEST(MemoryPlanTest, ValuesBetweenUnitsLiveTillTheLastReader) {
  for (const bool basic_blocks : {true, false}) {
    TestProgram p;
    const Value a = Call(p, {p.Feed()});
    const Value b = Call(p, {a});
    p.last().heavy = true;
    const Value c = Call(p, {a});
    p.last().heavy = true;
    p.Fetch(Call(p, {Call(p, {b, c})}));
    EXPECT_EQ(PlanOf(p, {}, {.threads = 2, .basic_blocks = basic_blocks}).peak_bytes, 300);
  }
}

TEST(MemoryPlanTest, WhatNobodyReadsGoesAtOnceAndUnknownOnesAreCounted) {
  TestProgram p;
  for (int i = 0; i < 5; ++i) Call(p, {p.Feed()});
  const Value unknown = Call(p, {p.Feed()});
  p.Fetch(Call(p, {unknown}));
  const MemoryPlan plan = PlanOf(p, {{unknown, kUnknownBytes}});
  EXPECT_EQ(plan.peak_bytes, 200);  // what is fetched stays, and one of the others
  EXPECT_EQ(plan.unknown_values, 1);
}

TEST(MemoryPlanTest, AViewKeepsWhatItShowsAndTakesNothing) {
  TestProgram p;
  const Value a = Call(p, {p.Feed()});
  const Value view = Call(p, {a}), of_feed = Call(p, {p.Feed()});
  const Value b = Call(p, {of_feed});
  p.Fetch(Call(p, {Call(p, {b}), view}));
  const MemoryPlan plan = PlanOf(p, {{view, kFirstInputsBytes}, {of_feed, kFirstInputsBytes}});
  EXPECT_EQ(plan.peak_bytes, 300);
}

TEST(MemoryPlanTest, BothSidesOfACondAndOneIterationOfALoop) {
  for (const bool structured : {true, false}) {
    TestProgram p;
    const Value x = p.Feed();
    const Value start = Call(p, {x});
    const TestProgram::Sides sides = p.Switch(start, p.Less(x, p.Const(3)));
    const Value merged = p.Merge({Call(p, {sides.no}), Call(p, {sides.yes})});
    const Value limit = p.Const(5);
    p.Fetch(p.While(
        "loop", {merged}, [&](const auto& v) { return p.Less(v[0], limit); },
        [&](const auto& v) { return std::vector<Value>{Call(p, {v[0]})}; })[0]);
    const MemoryPlan plan = PlanOf(p, {}, {.structured_loops = structured});
    EXPECT_GE(plan.peak_bytes, 300) << structured;
    EXPECT_LE(plan.peak_bytes, 500) << structured;
  }
}

}  // namespace
}  // namespace thalweg
