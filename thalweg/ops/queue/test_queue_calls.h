// SPDX-License-Identifier: Apache-2.0
// For the tests of this family: kernels called on one shared resource, each call with a step of its
// own, which may wait and be cancelled.
//
//   QueueCalls calls("FIFOQueueV2", {{"component_types", types}, ...});
//   auto take = calls.Start("QueueDequeueV2", {}, {{"component_types", types}});
//   EXPECT_FALSE(take->ended());
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "thalweg/testing/kernel_call.h"

namespace thalweg {

// A call that is cancelled at its end, if it still waits then.
class EndingCall final : public KernelCall {
 public:
  using KernelCall::KernelCall;
  ~EndingCall() {
    if (!ended()) cancellation().Cancel();
  }
};
using StartedCall = std::unique_ptr<EndingCall>;

class QueueCalls {
 public:
  QueueCalls(std::string_view maker, AttrMap attrs) : maker_(maker, {}, std::move(attrs)) {
    made_ = maker_.Run();
    EXPECT_TRUE(made_.ok()) << made_.ToString();
    if (made_.ok()) handle_ = maker_.output(0);
  }

  const Tensor& handle() const { return handle_; }
  StartedCall Start(std::string_view op, std::vector<Tensor> inputs, AttrMap attrs) const {
    inputs.insert(inputs.begin(), handle_);
    auto call = std::make_unique<EndingCall>(op, std::move(inputs), std::move(attrs));
    first_ = call->Run();
    return call;
  }
  // The status of the call last started: DeadlineExceeded while it waits.
  const Status& first() const { return first_; }
  // The status of a call that must have ended.
  Status Run(std::string_view op, std::vector<Tensor> inputs = {}, AttrMap attrs = {}) const {
    Start(op, std::move(inputs), std::move(attrs));
    return first_;
  }

 private:
  KernelCall maker_;
  Status made_;
  Tensor handle_;
  mutable Status first_;
};

// A queue of int32 scalars.
class IntQueue : public QueueCalls {
 public:
  explicit IntQueue(std::string_view kind, AttrMap more = {}, int64_t capacity = -1)
      : QueueCalls(kind, WithTypes(std::move(more), capacity)) {}

  StartedCall Enqueue(int32_t value) const {
    return Start("QueueEnqueueV2", {Tensor::Scalar(value)}, In());
  }
  StartedCall EnqueueMany(const std::vector<int32_t>& values) const {
    return Start("QueueEnqueueManyV2",
                 {Tensor::Of<int32_t>(values, Shape{static_cast<int64_t>(values.size())})}, In());
  }
  StartedCall Dequeue() const { return Start("QueueDequeueV2", {}, Out()); }
  StartedCall DequeueMany(int32_t n) const {
    return Start("QueueDequeueManyV2", {Tensor::Scalar(n)}, Out());
  }
  StartedCall DequeueUpTo(int32_t n) const {
    return Start("QueueDequeueUpToV2", {Tensor::Scalar(n)}, Out());
  }
  StartedCall Close(bool cancel = false) const {
    return Start("QueueCloseV2", {}, {{"cancel_pending_enqueues", cancel}});
  }
  int32_t Size() const { return Start("QueueSizeV2", {}, {})->output(0).scalar<int32_t>(); }

 private:
  static AttrMap In() { return {{"Tcomponents", std::vector<DType>{DType::kInt32}}}; }
  static AttrMap Out() { return {{"component_types", std::vector<DType>{DType::kInt32}}}; }
  static AttrMap WithTypes(AttrMap attrs, int64_t capacity) {
    attrs.Set("component_types", std::vector<DType>{DType::kInt32});
    attrs.Set("capacity", capacity);
    if (attrs.Find("shapes") == nullptr) {
      attrs.Set("shapes", std::vector<PartialShape>{PartialShape(Shape())});
    }
    return attrs;
  }
};

inline std::vector<int32_t> Ints(const Tensor& tensor) {
  const auto values = tensor.flat<int32_t>();
  return {values.begin(), values.end()};
}

}  // namespace thalweg
