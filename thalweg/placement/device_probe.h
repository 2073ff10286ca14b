// SPDX-License-Identifier: Apache-2.0
// DeviceProbe: what the devices of this process can do, measured when somebody first asks, and
// kept.
//
//   DeviceProbe probe(environment->clock(), environment->kernels(), environment->shared_ops());
//   MeasuredRates rates;
//   probe.Measure(environment->devices(), /*threads=*/2, &rates);
//
// Of CPUs what products and copies reach with so many threads, or as many of them as can run at
// once (machine/roof.h, some 30 ms); of devices whose memory the host cannot address the way there
// and back, and what their kernels reach (compute_probe.h), some milliseconds each.
// Ownership: clock and kernels outlive it; devices are used during a call only. A device that does
// not answer keeps what its answer needs.
// Threads: any; one measures at a time, the others wait for it.
// Errors: none: what cannot be measured, within 100 ms of a device's bus and of its kernels each
// (2 s of a kernel's first call), is not there, and is tried again by the next who asks.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "thalweg/base/clock.h"
#include "thalweg/base/mutex.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/placement/measured_rates.h"

namespace thalweg {

class DeviceProbe {
 public:
  DeviceProbe(Clock& clock, const KernelRegistry& kernels, std::shared_ptr<const OpRegistry> ops)
      : clock_(clock), kernels_(kernels), ops_(std::move(ops)) {}

  void Measure(const std::vector<std::unique_ptr<Device>>& devices, int threads,
               MeasuredRates* rates) EXCLUDES(mutex_);

 private:
  const MeasuredRates::Processor* ProcessorOf(int threads) REQUIRES(mutex_);
  const LinkModel* BusOf(Device& device) REQUIRES(mutex_);
  const MeasuredRates::Processor* ComputeOf(Device& device) REQUIRES(mutex_);

  Clock& clock_;
  const KernelRegistry& kernels_;
  const std::shared_ptr<const OpRegistry> ops_;
  Mutex mutex_;
  std::map<int, MeasuredRates::Processor> processors_ GUARDED_BY(mutex_);  // by threads
  // By full name and hardware: environments of a process give one name to different cards.
  std::map<std::string, LinkModel> buses_ GUARDED_BY(mutex_);
  std::map<std::string, MeasuredRates::Processor> computed_ GUARDED_BY(mutex_);
};

// The way between the host and a device, by copies there and back: small ones, then larger ones
// while these take no more than milliseconds. An error where the device gives one, or is silent.
Result<LinkModel> MeasureBus(Device& device, Clock& clock);

}  // namespace thalweg
