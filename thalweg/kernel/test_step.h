// SPDX-License-Identifier: Apache-2.0
// TestStep, TestCall: the services of one step, and one call of a kernel in it, for tests of what
// kernels are made of. No operation, device or executor is needed.
//
//   TestStep step(int64_t{1} << 20);                     // a memory limit of 1 MiB
//   TestCall call(step, {Tensor::Scalar(1.0F)}, 1);      // one input, one output
//   ASSERT_TRUE(call.context().AllocateOutput(0, DType::kFloat, Shape{2}).ok());
//
// Threads: Await() in one; Done may come from any.
#pragma once

#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "thalweg/base/cancellation.h"
#include "thalweg/base/notification.h"
#include "thalweg/kernel/kernel.h"
#include "thalweg/kernel/local_rendezvous.h"
#include "thalweg/kernel/resource_manager.h"
#include "thalweg/tensor/allocator.h"

namespace thalweg {

struct TestStep {
  // 0: as much memory as there is.
  explicit TestStep(int64_t limit = 0)
      : allocator(MakeCpuAllocator(limit)), work(compute::GetIsaTable(compute::BestIsaLevel())) {
    context.allocator = allocator.get();
    context.work = &work;
    context.cancellation = &cancellation;
    context.rendezvous = &rendezvous;
    context.resources = &resources;
    context.step_resources = &step_resources;
  }
  int64_t bytes_in_use() const { return allocator->Stats().bytes_in_use; }

  AllocatorPtr allocator;
  compute::SerialWork work;
  CancellationManager cancellation;
  LocalRendezvous rendezvous;
  ResourceManager resources, step_resources;
  StepContext context;
};

class TestCall final : DoneSink {
 public:
  // Every input is the last use of its value, so that a kernel may take what nobody else holds.
  explicit TestCall(TestStep& step, std::vector<Tensor> inputs = {}, int outputs = 1,
                    uint64_t tag = 0)
      : values_(std::move(inputs)) {
    const auto num_inputs = static_cast<int>(values_.size());
    values_.resize(values_.size() + static_cast<size_t>(outputs));
    for (size_t i = 0; i < values_.size(); ++i) {
      operands_.push_back(Operand::Make(0, static_cast<uint32_t>(i), true));
    }
    context_.Bind(&step.context, tag);
    context_.SetBase(0, values_.data());
    context_.SetOperands(operands_.data(), num_inputs, outputs);
  }
  TestCall(const TestCall&) = delete;
  TestCall& operator=(const TestCall&) = delete;

  Context& context() { return context_; }
  const Tensor& output(int i = 0) { return context_.output(i); }
  Done done() { return Done(this, 0); }
  bool ended() const { return times_ended_.load() > 0; }
  int times_ended() const { return times_ended_.load(); }
  // What Done said; waits for it.
  Status Await() {
    ended_.Wait();
    return status_;
  }

 private:
  void OnDone(uint64_t, Status status) override {
    if (times_ended_.fetch_add(1) > 0) return;
    status_ = std::move(status);
    ended_.Notify();
  }

  std::vector<Tensor> values_;
  std::vector<Operand> operands_;
  Context context_;
  std::atomic<int> times_ended_{0};
  Status status_;
  Notification ended_;
};

// The elements of a plain tensor.
template <class T>
std::vector<T> ElementsOf(const Tensor& tensor) {
  return {tensor.flat<T>().begin(), tensor.flat<T>().end()};
}

}  // namespace thalweg
