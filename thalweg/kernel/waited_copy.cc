// SPDX-License-Identifier: Apache-2.0
#include "thalweg/kernel/waited_copy.h"

#include <atomic>
#include <memory>
#include <utility>

#include "thalweg/base/notification.h"

namespace thalweg {
namespace {

// A copy, or why the step ended before it had come: whichever is first.
struct Arrival {
  explicit Arrival(Tensor tensor) : given(std::move(tensor)) {}
  void Tell(Result<Tensor> told) {
    if (is_told.exchange(true)) return;
    result = std::move(told);
    ended.Notify();
  }
  const Tensor given;  // stays where it is, a scalar's bytes with it, until the copy has ended
  std::atomic<bool> is_told = false;
  Result<Tensor> result = Internal("no copy has come");
  Notification ended;
};

}  // namespace

Result<Tensor> CopyAndWait(Device& device, DeviceCopy copy, const Tensor& tensor,
                           const StepContext& step) {
  const auto arrival = std::make_shared<Arrival>(tensor);
  (device.*copy)(arrival->given,
                 [arrival](Result<Tensor> copied) { arrival->Tell(std::move(copied)); });
  const ScopedCancellation until(step.cancellation,
                                 [arrival](const Status& why) { arrival->Tell(why); });
  arrival->ended.Wait();
  return std::move(arrival->result);
}

}  // namespace thalweg
