// SPDX-License-Identifier: Apache-2.0
// BatchTimer: the clock by which batches of calls close and pieces of them stop being waited for;
// one in a resource manager, under kBatchTimer.
// Ownership: the container and the kernels share it; a timed waiter points at its kernel's.
// Threads: all calls from any thread.
// Errors: Micros: InvalidArgument for a negative span; those of the container.
#pragma once

#include <memory>
#include <string>

#include "thalweg/base/timer.h"
#include "thalweg/ops/queue/queue_node.h"
#include "thalweg/resources/waiter_queues.h"

namespace thalweg {

inline constexpr const char* kBatchTimer = "batch_timer";

class BatchTimer final : public Resource {
 public:
  explicit BatchTimer(std::unique_ptr<Clock> clock) : clock_(std::move(clock)) {}
  std::string DebugString() const override { return "timer of batches of calls"; }
  const Clock& clock() const { return *clock_; }
  Timer& timer() { return timer_; }

 private:
  const std::unique_ptr<Clock> clock_;
  Timer timer_{*clock_};
};

// A call that waits no longer than some time.
struct TimedWaiter : Waiter {
  using Waiter::Waiter;
  void OnEnd() override {
    if (entry.id != 0) timer->timer().Remove(entry);
  }
  BatchTimer* timer = nullptr;  // of the kernel, which outlives the call
  Timer::Entry entry;
};

inline Result<RefPtr<BatchTimer>> TimerOf(ResourceManager& resources) {
  return resources.LookupOrCreate<BatchTimer>("", kBatchTimer, []() -> Result<RefPtr<BatchTimer>> {
    return RefPtr<BatchTimer>::Adopt(
        std::make_unique<BatchTimer>(std::make_unique<SystemClock>()).release());
  });
}

// Where calls of one name meet; made by the first with these arguments.
template <class T, class... Args>
Result<RefPtr<T>> SharedPlace(const Context& ctx, const ResourceName& name, const Args&... args) {
  return ctx.step().resources->LookupOrCreate<T>(
      name.container, name.name, [&]() -> Result<RefPtr<T>> {
        return RefPtr<T>::Adopt(std::make_unique<T>(name.name, args...).release());
      });
}

// A span of time that an attribute gives.
inline Result<std::chrono::microseconds> Micros(const KernelConstruction& c,
                                                std::string_view attr) {
  ASSIGN_OR_RETURN(const int64_t micros, c.Attr<int64_t>(attr));
  if (micros < 0) return InvalidArgument(attr, " must not be negative, got ", micros);
  constexpr int64_t kLongest = int64_t{1} << 52;  // fits as nanoseconds
  return std::chrono::microseconds(std::min(micros, kLongest));
}

}  // namespace thalweg
