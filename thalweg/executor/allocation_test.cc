// SPDX-License-Identifier: Apache-2.0
// A step of a cached plan allocates nothing of its own.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "thalweg/executor/test_program.h"

namespace {
thread_local int64_t allocations = 0;
}  // namespace

// Of the whole test program; counts and does what the standard one does.
void* operator new(size_t bytes) {
  ++allocations;
  if (void* const block = std::malloc(bytes == 0 ? 1 : bytes)) return block;
  throw std::bad_alloc();
}
void operator delete(void* block) noexcept { std::free(block); }
void operator delete(void* block, size_t) noexcept { std::free(block); }

namespace thalweg {
namespace {

TEST(AllocationTest, AStepOfACachedPlanAllocatesNothing) {
  for (const bool structured : {true, false}) {
    TestProgram p;
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
    const auto executor = *MakeExecutor(p.Take(), {.structured_loops = structured});
    CancellationManager cancellation;
    StepContext context;
    context.cancellation = &cancellation;
    StepContext* const contexts[] = {&context};
    const Tensor feeds[] = {Tensor::Scalar<int64_t>(1), Tensor::Scalar<int64_t>(50)};
    Tensor fetches[2];
    int64_t before = 0;
    for (int round = 0; round < 3; ++round) {
      before = allocations;
      ASSERT_TRUE(executor->Run({.contexts = contexts, .feeds = feeds, .fetches = fetches}).ok());
    }
    EXPECT_EQ(allocations, before) << structured;
    EXPECT_EQ(fetches[0].scalar<int64_t>(), 50);
  }
}

}  // namespace
}  // namespace thalweg
