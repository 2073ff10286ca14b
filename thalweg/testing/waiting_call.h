// SPDX-License-Identifier: Apache-2.0
// WaitingCall: a context and a Done for one waiter of a WaiterQueues, without a kernel: what tests
// of many threads make by the thousand. The values are the inputs, then the outputs.
//
//   WaitingCall call({Tensor()}, 0);
//   queue->Join(std::make_unique<TensorQueue::Dequeue>(call.context(), call.done(), 1, false,
//                                                      false));
//   EXPECT_TRUE(call.Await().ok());
//
// Ownership: owns context and values; it outlives the waiter.
// Threads: one; Done comes from any.
// Errors: Await gives the waiter's.
#pragma once

#include <utility>
#include <vector>

#include "thalweg/base/cancellation.h"
#include "thalweg/base/notification.h"
#include "thalweg/kernel/kernel.h"
#include "thalweg/testing/test_machine.h"

namespace thalweg {

class WaitingCall final : DoneSink {
 public:
  explicit WaitingCall(std::vector<Tensor> values, int inputs) : values_(std::move(values)) {
    step_.cancellation = &cancellation_;
    step_.device = &machine().device;
    step_.work = &machine().work;
    step_.allocator = &machine().device.allocator();
    for (size_t i = 0; i < values_.size(); ++i) {
      operands_.push_back(Operand::Make(0, static_cast<uint32_t>(i)));
    }
    context_.Bind(&step_, 0);
    context_.SetBase(0, values_.data());
    context_.SetOperands(operands_.data(), inputs, static_cast<int>(values_.size()) - inputs);
  }
  Context& context() { return context_; }
  Done done() { return Done(this, 0); }
  void Cancel() { cancellation_.Cancel(); }
  Status Await() {
    ended_.Wait();
    return status_;
  }
  const Tensor& value(size_t i) const { return values_[i]; }

 private:
  static TestMachine& machine() {
    static TestMachine one(compute::BestIsaLevel(), false);
    return one;
  }
  void OnDone(uint64_t, Status status) override {
    status_ = std::move(status);
    ended_.Notify();
  }

  std::vector<Tensor> values_;
  std::vector<Operand> operands_;
  CancellationManager cancellation_;
  StepContext step_;
  Context context_;
  Status status_;
  Notification ended_;
};

}  // namespace thalweg
