// SPDX-License-Identifier: Apache-2.0
#include "thalweg/placement/awaited_copies.h"

#include <chrono>
#include <memory>
#include <utility>

#include "thalweg/base/notification.h"

namespace thalweg {
namespace {

// What a device may still write to when nobody waits for it any more.
struct CopyAnswer {
  Result<Tensor> tensor = Internal("no answer");
  Notification there;
};

Device::CopyDone TellWhenDone(const std::shared_ptr<CopyAnswer>& answer) {
  return [answer](Result<Tensor> tensor) {
    answer->tensor = std::move(tensor);
    answer->there.Notify();
  };
}

Result<Tensor> Await(const std::shared_ptr<CopyAnswer>& answer, Clock& clock, Deadline end) {
  if (!answer->there.WaitUntil(clock, end)) return DeadlineExceeded("the device is silent");
  return std::move(answer->tensor);
}

}  // namespace

double SecondsSince(Clock::TimePoint begin, Clock& clock) {
  return std::chrono::duration<double>(clock.Now() - begin).count();
}

Result<Tensor> AwaitedCopies::ToDevice(const Tensor& tensor) {
  const auto answer = std::make_shared<CopyAnswer>();
  device_.CopyFromHost(tensor, TellWhenDone(answer));
  return Await(answer, clock_, end_);
}

Result<Tensor> AwaitedCopies::ToHost(const Tensor& tensor) {
  const auto answer = std::make_shared<CopyAnswer>();
  device_.CopyToHost(tensor, TellWhenDone(answer));
  return Await(answer, clock_, end_);
}

Result<double> AwaitedCopies::RoundTrip(const Tensor& bytes) {
  const Clock::TimePoint begin = clock_.Now();
  ASSIGN_OR_RETURN(const Tensor there, ToDevice(bytes));
  RETURN_IF_ERROR(ToHost(there).status());
  return SecondsSince(begin, clock_);
}

}  // namespace thalweg
