// SPDX-License-Identifier: Apache-2.0
#include "thalweg/kernel/kernel.h"

#include <gtest/gtest.h>

#include <new>
#include <stdexcept>
#include <thread>
#include <vector>

#include "thalweg/base/work_queue.h"
#include "thalweg/kernel/caught_exception.h"
#include "thalweg/kernel/host_call.h"
#include "thalweg/kernel/kernel_execution.h"
#include "thalweg/kernel/test_step.h"
#include "thalweg/kernel/waiting_kernel.h"

namespace thalweg {
namespace {

TEST(DoneTest, DroppedDoneIsAnError) {
  struct Sink : DoneSink {
    void OnDone(uint64_t token, Status status) override {
      last_token = token;
      last = std::move(status);
    }
    uint64_t last_token = 0;
    Status last;
  } sink;
  { Done done(&sink, 7); }
  EXPECT_EQ(sink.last.code(), Code::kInternal);
  EXPECT_EQ(sink.last_token, 7u);
  Done(&sink, 8)(OkStatus());
  EXPECT_TRUE(sink.last.ok());
}

// A kernel whose room comes later, as that of a queue does.
class Gate : public WaitingKernel {
 public:
  std::optional<Status> TryCompute(Context&) override {
    return open ? std::optional<Status>(answer) : std::nullopt;
  }
  void Wait(Context&, Done done) override { waiting.push_back(std::move(done)); }
  std::string WaitsFor(Context&) const override { return "the gate"; }

  bool open = false;
  Status answer;
  std::vector<Done> waiting;
};

TEST(WaitingKernelTest, IsTriedFirstAndWaitsOnlyWhereItMust) {
  TestStep step;
  Gate gate;
  TestCall waits(step), refused(step);
  gate.ComputeAsync(waits.context(), waits.done());
  EXPECT_FALSE(waits.ended());
  ASSERT_EQ(gate.waiting.size(), 1u);
  gate.open = true;
  gate.answer = InvalidArgument("a bad key");
  gate.ComputeAsync(refused.context(), refused.done());
  EXPECT_EQ(refused.Await().message(), "a bad key");
  EXPECT_EQ(gate.waiting.size(), 1u);
  std::move(gate.waiting.front())(OkStatus());
  EXPECT_TRUE(waits.Await().ok());
}

TEST(AsyncKernelTest, ASynchronousCallIsAnErrorNotAWait) {
  TestStep step;
  TestCall call(step);
  Gate gate;
  Kernel& kernel = gate;
  EXPECT_EQ(kernel.Compute(call.context()).code(), Code::kInternal);
  EXPECT_EQ(kernel.AsAsync(), &gate);
}

TEST(DoneTest, AMovedDoneSpeaksOnceAndItsOldPlaceNever) {
  TestStep step;
  TestCall call(step);
  {
    Done first = call.done();
    Done second = std::move(first);
    std::move(second)(Cancelled("over"));
  }
  EXPECT_EQ(call.times_ended(), 1);
  EXPECT_EQ(call.Await().message(), "over");
}

TEST(CaughtExceptionTest, MemoryIsResourceExhaustedAndAllElseInternalWithItsWords) {
  const auto status_of = [](const auto& raise) {
    try {
      raise();
    } catch (...) {
      return CaughtException();
    }
    return OkStatus();
  };
  EXPECT_EQ(status_of([] { throw std::bad_alloc(); }).code(), Code::kResourceExhausted);
  EXPECT_EQ(status_of([] { std::vector<int>().reserve(~size_t{0}); }).code(),
            Code::kResourceExhausted);
  const Status other = status_of([] { throw std::out_of_range("row 7"); });
  EXPECT_EQ(other.code(), Code::kInternal);
  EXPECT_NE(other.message().find("row 7"), std::string::npos);
  EXPECT_EQ(status_of([] { throw 7; }).code(), Code::kInternal);  // NOLINT: no class of exception
}

TEST(HostCallTest, IsInsideInItsOwnThreadAndAnywhereForAll) {
  EXPECT_FALSE(HostCall::IsInside());
  {
    const HostCall outer;
    std::thread other([] {
      EXPECT_FALSE(HostCall::IsInside());
      EXPECT_TRUE(HostCall::IsAnywhere());
    });
    other.join();
    { const HostCall inner; }
    EXPECT_TRUE(HostCall::IsInside()) << "the outer call goes on";
  }
  EXPECT_FALSE(HostCall::IsInside());
  EXPECT_FALSE(HostCall::IsAnywhere());
}

TEST(KernelExecutionTest, RunsEveryShardOnceAndHearsOfTheCancellation) {
  AllocatorPtr allocator = MakeCpuAllocator();
  CancellationManager cancellation;
  InlineQueue queue;
  for (WorkQueue* const threads :
       {static_cast<WorkQueue*>(nullptr), static_cast<WorkQueue*>(&queue)}) {
    KernelExecution work(compute::GetIsaTable(compute::BestIsaLevel()), threads, *allocator,
                         &cancellation);
    std::vector<int> runs(100);
    work.ParallelFor(
        100,
        [](void* seen, int64_t shard) {
          ++(*static_cast<std::vector<int>*>(seen))[static_cast<size_t>(shard)];
        },
        &runs);
    EXPECT_EQ(runs, std::vector<int>(100, 1));
    EXPECT_FALSE(work.cancelled());
  }
  cancellation.Cancel();
  KernelExecution work(compute::GetIsaTable(compute::BestIsaLevel()), &queue, *allocator,
                       &cancellation);
  EXPECT_TRUE(work.cancelled());
  KernelExecution never(compute::GetIsaTable(compute::BestIsaLevel()), &queue, *allocator, nullptr);
  EXPECT_FALSE(never.cancelled());
}

TEST(KernelExecutionTest, ScratchCountsAgainstTheLimitOfItsAllocator) {
  AllocatorPtr allocator = MakeCpuAllocator(int64_t{1} << 20);
  KernelExecution work(compute::GetIsaTable(compute::BestIsaLevel()), nullptr, *allocator, nullptr);
  {
    const compute::Scratch<float> fits(work, 1000);
    EXPECT_TRUE(static_cast<bool>(fits));
    EXPECT_GE(allocator->Stats().bytes_in_use, 4000);
    const compute::Scratch<float> refused(work, int64_t{1} << 20);
    EXPECT_FALSE(static_cast<bool>(refused));
  }
  EXPECT_EQ(allocator->Stats().bytes_in_use, 0);
}

}  // namespace
}  // namespace thalweg
