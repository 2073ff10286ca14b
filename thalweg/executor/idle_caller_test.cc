// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "thalweg/base/thread_pool.h"
#include "thalweg/executor/test_program.h"

namespace thalweg {
namespace {

using std::chrono::steady_clock;

// A kernel on the queue's only thread runs loops: the step's caller, which has nothing else to do,
// takes part in one of them.
TEST(IdleCallerTest, HelpsInTheLoopsOfOtherThreads) {
  const auto caller = std::this_thread::get_id();
  const auto deadline = steady_clock::now() + std::chrono::seconds(60);
  std::atomic<bool> begun{false}, helped{false};
  TestProgram p;
  const auto work = [&](Context& ctx) {
    ctx.set_output(0, Tensor::Scalar<int64_t>(1));
    if (std::this_thread::get_id() == caller) {  // keeps itself busy until the other has begun
      while (!begun && steady_clock::now() < deadline) std::this_thread::yield();
      return OkStatus();
    }
    begun = true;
    while (!helped && steady_clock::now() < deadline) {
      std::atomic<int> arrived{0};
      EXPECT_TRUE(compute::ForShards(ctx.work(), 2, [&](int64_t) {
                    if (std::this_thread::get_id() == caller) helped = true;
                    // Long enough for the other shard to find a thread, if there is one.
                    const auto until = steady_clock::now() + std::chrono::milliseconds(20);
                    ++arrived;
                    while (arrived < 2 && steady_clock::now() < until) std::this_thread::yield();
                    return true;
                  }).ok());
    }
    return OkStatus();
  };
  const int first = p.NoOp({});
  for (int i = 0; i < 2; ++i) {
    p.Fetch(p.Call({}, work, {first}));
    p.last().heavy = true;
  }
  ThreadPool pool({.threads = 1});
  Harness h(
      p.Take(), [](Program program) { return MakeExecutor(std::move(program), {.threads = 1}); },
      &pool);
  ASSERT_TRUE(h.Run().ok());
  EXPECT_TRUE(begun);
  EXPECT_TRUE(helped);
}

}  // namespace
}  // namespace thalweg
