// SPDX-License-Identifier: Apache-2.0
// AwaitedCopies: copies between a device and the host that their caller waits for, till a deadline.
//
//   AwaitedCopies copies(device, clock, Deadline::After(clock, std::chrono::milliseconds(100)));
//   ASSIGN_OR_RETURN(const Tensor there, copies.ToDevice(bytes));
//   ASSIGN_OR_RETURN(const double seconds, copies.RoundTrip(bytes));
//
// Ownership: device and clock outlive it. A device that does not answer keeps what its answer
// needs.
// Threads: any, one call at a time.
// Errors: the device's; DeadlineExceeded for one that is silent.
#pragma once

#include "thalweg/base/clock.h"
#include "thalweg/base/deadline.h"
#include "thalweg/kernel/device.h"

namespace thalweg {

class AwaitedCopies {
 public:
  AwaitedCopies(Device& device, Clock& clock, Deadline end)
      : device_(device), clock_(clock), end_(end) {}

  Result<Tensor> ToDevice(const Tensor& tensor);
  Result<Tensor> ToHost(const Tensor& tensor);
  // Seconds to the device and back.
  Result<double> RoundTrip(const Tensor& bytes);

 private:
  Device& device_;
  Clock& clock_;
  const Deadline end_;
};

double SecondsSince(Clock::TimePoint begin, Clock& clock);

}  // namespace thalweg
