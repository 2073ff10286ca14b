// SPDX-License-Identifier: Apache-2.0
// What a call of a plan that was compiled before costs: counted in kernel calls, allocations and
// clock readings, not in time.
#include <gtest/gtest.h>

#include "thalweg/session/run_metadata_message.h"
#include "thalweg/session/session_fixture.h"
#include "thalweg/testing/process_counters.h"

namespace thalweg {
namespace {

constexpr int kNodes = 10000;

int64_t KernelCalls(RunMetadata metadata) {
  int64_t calls = 0;
  EXPECT_TRUE(ReadStepStats(&metadata).ok());
  for (const DeviceStats& device : metadata.step_stats.devices) {
    calls += static_cast<int64_t>(device.nodes.size());
  }
  return calls;
}

TEST(CachedPlanTest, TenThousandNodesAreTenThousandKernelCalls) {
  SessionFixture f({.threads = 0}, {.passes = "-cse"});
  std::vector<Node*> wide;
  for (int i = 0; i < kNodes; ++i) wide.push_back(f.b.OpNode("NoOp", {}));
  Node* const group = f.b.WithControls(wide).OpNode("NoOp", {});
  const Output x = f.Placeholder();
  Output chain = x;
  for (int i = 0; i < kNodes; ++i) chain = f.b.Op("Add", {chain, x});
  ASSERT_TRUE(f.b.ok()) << f.b.status().ToString();
  for (int round = 0; round < 2; ++round) {
    RunMetadata metadata;
    ASSERT_TRUE(f.Run({}, {}, {group}, {.trace = TraceLevel::kSoftware}, &metadata).ok());
    EXPECT_EQ(KernelCalls(metadata), kNodes + 1);
    const int before = ArithmeticCalls();
    const auto sum = f.Run({{x, Tensor::Scalar(1.0f)}}, {chain}, {},
                           {.trace = TraceLevel::kSoftware}, &metadata);
    ASSERT_TRUE(sum.ok()) << sum.status().ToString();
    EXPECT_EQ((*sum)[0].scalar<float>(), kNodes + 1);
    EXPECT_EQ(KernelCalls(metadata), kNodes);
    EXPECT_EQ(ArithmeticCalls() - before, kNodes);
  }
}

TEST(CachedPlanTest, AllocatesTensorsOnlyAndReadsNoClock) {
  SessionFixture f({.threads = 0});
  const Output x = f.Placeholder();
  const Output v = f.b.Op("Mul", {f.b.Op("Add", {x, x}), x});
  const Output y = f.b.Op("Neg", {v});
  const std::shared_ptr<Callable> call = *f.session->MakeCallable({{x}, {y, v}, {}});
  const Tensor value = Filled(100000, 3.0f);
  int64_t before = 0, blocks = 0;
  for (int round = 0; round < 4; ++round) {
    Tensor out[2];
    before = AllocationsSoFar() + ClockReadingsSoFar();
    blocks = f.environment->allocator()->Stats().num_allocations;
    ASSERT_TRUE(call->Run({&value, 1}, out).ok());
    EXPECT_EQ(out[0].data<float>()[99999], -18.0f);
  }
  EXPECT_EQ(AllocationsSoFar() + ClockReadingsSoFar(), before);
  // One for each value; this room's kernels never work in place.
  EXPECT_EQ(f.environment->allocator()->Stats().num_allocations, blocks + 3);
}

}  // namespace
}  // namespace thalweg
