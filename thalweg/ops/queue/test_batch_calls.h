// SPDX-License-Identifier: Apache-2.0
// For the tests of batches of calls: calls in one resource manager, on a clock that tests move.
#pragma once

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "thalweg/base/notification.h"
#include "thalweg/ops/queue/batch_timer.h"
#include "thalweg/ops/queue/test_queue_calls.h"
#include "thalweg/testing/fake_clock.h"

namespace thalweg {

inline Tensor Row(const std::vector<int32_t>& values) {
  return Tensor::Of<int32_t>(values, Shape{static_cast<int64_t>(values.size())});
}

inline std::vector<int64_t> Longs(const Tensor& tensor) {
  const auto values = tensor.flat<int64_t>();
  return {values.begin(), values.end()};
}

class BatchCalls {
 public:
  // Batches of at most four int32 that wait for 10 ms, but for what `attrs` say.
  explicit BatchCalls(AttrMap attrs = {}) : attrs_(std::move(attrs)) {
    auto clock = std::make_unique<FakeClock>();
    clock_ = clock.get();
    timer_ = RefPtr<BatchTimer>::Adopt(std::make_unique<BatchTimer>(std::move(clock)).release());
  }

  AttrMap BatchAttrs() const {
    AttrMap attrs = attrs_;
    const auto set = [&](const char* name, AttrValue value) {
      if (attrs.Find(name) == nullptr) attrs.Set(name, std::move(value));
    };
    set("shared_name", std::string("calls"));
    set("num_batch_threads", int64_t{1});
    set("max_batch_size", int64_t{4});
    set("batch_timeout_micros", int64_t{10'000});
    set("grad_timeout_micros", int64_t{0});
    return attrs;
  }
  StartedCall Start(std::string_view op, std::vector<Tensor> inputs, AttrMap attrs) {
    auto call = std::make_unique<EndingCall>(op, std::move(inputs), std::move(attrs));
    // Where kernels are made they look for the clock, where they run for each other.
    EXPECT_TRUE(call->step().resources->Create("", kBatchTimer, timer_).ok());
    call->step().resources = &resources_;
    first_ = call->Run();
    return call;
  }
  StartedCall Batch(const std::vector<int32_t>& rows) {
    return Start("Batch", {Row(rows)}, BatchAttrs());
  }
  // Moves the clock, and returns when what is due has run.
  void Pass(std::chrono::nanoseconds span) {
    Notification passed;  // callbacks come one after the other
    timer_->timer().Add(Deadline::After(*clock_, span), [&] { passed.Notify(); });
    clock_->Advance(span);
    passed.Wait();
  }
  const Status& first() const { return first_; }

 private:
  const AttrMap attrs_;
  ResourceManager resources_;
  FakeClock* clock_ = nullptr;
  RefPtr<BatchTimer> timer_;
  Status first_;
};

}  // namespace thalweg
