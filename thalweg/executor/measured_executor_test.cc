// SPDX-License-Identifier: Apache-2.0
// Plans follow what their nodes cost; the costs are a fake clock's.
#include "thalweg/executor/measured_executor.h"

#include <gtest/gtest.h>

#include "thalweg/executor/node_costs.h"
#include "thalweg/executor/test_program.h"
#include "thalweg/testing/fake_clock.h"

namespace thalweg {
namespace {

using std::chrono::microseconds;

class MeasuredExecutorTest : public ::testing::Test {
 protected:
  // A node that was told cheap or heavy, and takes `micros`.
  Value Takes(Value input, int micros, bool heavy) {
    const Value out = p_.Call({input}, [this, micros](Context& ctx) {
      clock_.Advance(microseconds(micros));
      ctx.set_output(0, Tensor::Scalar(ctx.input(0).scalar<int64_t>() + 1));
      return OkStatus();
    });
    p_.last().heavy = heavy;
    p_.last().micros = heavy ? 10.0f : 0.02f;
    return out;
  }
  // Runs `steps` of them and returns which nodes are heavy then.
  std::vector<bool> HeavyAfter(int steps) {
    Harness harness(
        p_.Take(),
        [&](Program program) {
          return MakeMeasuredExecutor(std::move(program), {.threads = 2}, &clock_);
        },
        &queue_);
    for (int64_t i = 0; i < steps; ++i) {
      const Result<std::vector<int64_t>> got = harness.Run({i});
      EXPECT_TRUE(got.ok()) << got.status().ToString();
      if (got.ok()) {
        EXPECT_EQ((*got)[0], i + expected_);
      }
    }
    std::vector<bool> heavy;
    for (const ProgramNode& node : harness.executor().program().nodes) heavy.push_back(node.heavy);
    return heavy;
  }

  TestProgram p_;
  FakeClock clock_;
  HastyQueue queue_{2};
  int64_t expected_ = 0;
};

TEST_F(MeasuredExecutorTest, NodesThatWereGuessedWrongChangeSides) {
  const Value x = p_.Feed();
  p_.Fetch(Takes(Takes(Takes(x, 50, false), 0, true), 0, false));
  expected_ = 3;
  EXPECT_EQ(HeavyAfter(8), (std::vector<bool>{true, false, false}));
}

TEST_F(MeasuredExecutorTest, TheFirstStepsAreTooEarly) {
  p_.Fetch(Takes(p_.Feed(), 50, false));
  expected_ = 1;
  EXPECT_EQ(HeavyAfter(3), (std::vector<bool>{false}));
}

TEST_F(MeasuredExecutorTest, NearTheLineTheGuessStands) {
  const Value x = p_.Feed();
  p_.Fetch(Takes(Takes(x, 3, false), 2, true));
  expected_ = 2;
  EXPECT_EQ(HeavyAfter(8), (std::vector<bool>{false, true}));
}

TEST_F(MeasuredExecutorTest, AFailingStepIsMeasuredToo) {
  const Value x = p_.Feed();
  p_.Fetch(p_.Call({Takes(x, 50, false)}, [](Context&) { return Aborted("no"); }));
  Harness harness(
      p_.Take(),
      [&](Program program) {
        return MakeMeasuredExecutor(std::move(program), {.threads = 2}, &clock_);
      },
      &queue_);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(harness.Run({1}).status().code(), Code::kAborted);
  EXPECT_TRUE(harness.executor().program().nodes[0].heavy);
}

// A loop of any length leaves no more records than a short one.
TEST(StepTraceTest, TimesTheFirstCallsAndCountsAll) {
  constexpr uint32_t kMost = 3;
  for (const bool structured : {true, false}) {
    TestProgram p;
    const Value limit = p.Feed(), one = p.Const(1);
    const auto less = [&](const auto& v) { return p.Less(v[0], p.Enter(limit, "loop", true)); };
    int body = -1;
    p.Fetch(p.While("loop", {p.Const(0)}, less, [&](const auto& v) {
      const Value next = p.Add(v[0], one);
      body = next.node;
      return std::vector<Value>{next};
    })[0]);
    const size_t nodes = p.program().nodes.size();
    Harness harness(
        p.Take(),
        [&](Program program) {
          return MakeExecutor(std::move(program), {.structured_loops = structured});
        },
        nullptr);
    FakeClock clock;
    StepTrace trace(&clock, nodes, kMost);
    const Tensor feed = Tensor::Scalar<int64_t>(100);
    Tensor out;
    CancellationManager cancellation;
    const Status status = harness.RunStep({&feed, 1}, {&out, 1}, cancellation, &trace);
    ASSERT_TRUE(status.ok()) << status.ToString();
    int64_t records = 0;
    for (const NodeRecord& record : trace.TakeRecords()) records += record.node == body;
    EXPECT_EQ(records, kMost);
    EXPECT_EQ(trace.Calls()[static_cast<size_t>(body)], 100);
  }
}

// Many cheap nodes that together are worth a second thread.
TEST(NodeCostsTest, CheapNodesContradictTogether) {
  TestProgram p;
  Value v = p.Feed();
  for (int i = 0; i < 100; ++i) {
    v = p.Identity(v);
    p.last().micros = 0.02f;
  }
  Program program = p.Take();
  const auto records = [&](int64_t nanos) {
    std::vector<NodeRecord> out;
    for (int i = 0; i < 100; ++i) out.push_back({.node = i, .end_nanos = nanos});
    return out;
  };
  NodeCosts costs(100);
  costs.Add(records(1030));
  EXPECT_TRUE(costs.Contradict(program));
  costs.Correct(&program);
  EXPECT_FLOAT_EQ(program.nodes[7].micros, 1.0f);
  EXPECT_FALSE(program.nodes[7].heavy);
  EXPECT_FALSE(costs.Contradict(program));
  // The least of several steps counts: others may have disturbed one.
  costs.Add(records(50));
  costs.Correct(&program);
  EXPECT_FLOAT_EQ(program.nodes[7].micros, 0.02f);
}

// Runs `calls` times a step what takes `micros`; `before` and after three steps, whether it is
// heavy.
struct Work {
  int64_t calls;
  int64_t micros;
  bool before, after;
};

void ExpectHeavy(const std::vector<Work>& works) {
  TestProgram p;
  std::vector<NodeRecord> records;
  for (const Work& work : works) {
    const Value v = p.Identity(p.Feed());
    p.last().heavy = work.before;
    for (int64_t i = 0; i < work.calls; ++i) {
      records.push_back({.node = v.node, .end_nanos = work.micros * 1000});
    }
  }
  Program program = p.Take();
  NodeCosts costs(works.size());
  for (int step = 0; step < 3; ++step) costs.Add(records);
  if (costs.Contradict(program)) costs.Correct(&program);
  for (size_t i = 0; i < works.size(); ++i) {
    EXPECT_EQ(program.nodes[i].heavy, works[i].after) << i;
  }
}

// The node of a queue that is looked up once, cold, beside the loop over it.
TEST(NodeCostsTest, LittleHeavyWorkIsNotWorthAThread) {
  ExpectHeavy({{1, 6, false, false}, {1000, 1, false, false}});
  ExpectHeavy({{1, 6, true, false}, {1000, 1, false, false}, {1, 50, false, false}});
}

TEST(NodeCostsTest, MuchHeavyWorkIs) {
  ExpectHeavy({{100, 6, false, true}, {1000, 1, false, false}});
  ExpectHeavy({{1, 6, false, true}, {10, 1, false, false}});
  ExpectHeavy({{100, 6, true, true}, {1000, 1, false, false}});
}

}  // namespace
}  // namespace thalweg
