// SPDX-License-Identifier: Apache-2.0
#include "thalweg/placement/device_probe.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <utility>

#include "thalweg/base/cgroup.h"
#include "thalweg/base/deadline.h"
#include "thalweg/base/str_cat.h"
#include "thalweg/kernel/hardware.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/machine/roof.h"
#include "thalweg/placement/awaited_copies.h"
#include "thalweg/placement/compute_probe.h"

namespace thalweg {
namespace {

constexpr std::chrono::milliseconds kPatience{100};         // with a device, in all
constexpr std::chrono::milliseconds kLongCopy{2};           // after which no larger one follows
constexpr int64_t kSizes[] = {64 << 10, 1 << 20, 4 << 20};  // bytes
constexpr int kSmallCopies = 4;

Result<Tensor> Zeros(Device& device, int64_t bytes) {
  ASSIGN_OR_RETURN(Tensor tensor,
                   Tensor::Allocate(device.host_allocator(), DType::kUint8, Shape{bytes}));
  std::memset(tensor.mutable_raw_data(), 0, static_cast<size_t>(bytes));
  return tensor;
}

std::string KeyOf(const Device& device) {
  return StrCat(device.full_name(), " ", HardwareOf(device));
}

}  // namespace

Result<LinkModel> MeasureBus(Device& device, Clock& clock) {
  AwaitedCopies copies(device, clock, Deadline::After(clock, kPatience));
  ASSIGN_OR_RETURN(const Tensor small, Zeros(device, 64));
  double empty = std::numeric_limits<double>::infinity();
  // The first one may make queues, and is the slowest.
  for (int i = 0; i < kSmallCopies; ++i) {
    ASSIGN_OR_RETURN(const double seconds, copies.RoundTrip(small));
    empty = std::min(empty, seconds);
  }
  LinkModel bus{.latency = empty / 2, .source = RateSource::kMeasured};
  for (const int64_t size : kSizes) {
    ASSIGN_OR_RETURN(const Tensor bytes, Zeros(device, size));
    // The first one also pays for pages that nobody has touched.
    double seconds = std::numeric_limits<double>::infinity();
    for (int i = 0; i < 2; ++i) {
      ASSIGN_OR_RETURN(const double one, copies.RoundTrip(bytes));
      seconds = std::min(seconds, one);
    }
    const double moved = seconds - empty;
    bus.bytes_per_second =
        moved > 0 ? 2 * static_cast<double>(size) / moved : std::numeric_limits<double>::infinity();
    if (seconds > std::chrono::duration<double>(kLongCopy).count()) break;
  }
  return bus;
}

const MeasuredRates::Processor* DeviceProbe::ProcessorOf(int threads) {
  // Those that cannot run at once wait for each other, and each would count as if it had not.
  threads = std::clamp(threads, 1, UsableProcessors());
  const auto kept = processors_.find(threads);
  if (kept != processors_.end()) return &kept->second;
  const Result<QuickRoof> roof = MeasureRoofQuickly(threads);
  if (!roof.ok()) return nullptr;
  return &(processors_[threads] = {.flops = roof->product, .bytes = roof->copy});
}

const LinkModel* DeviceProbe::BusOf(Device& device) {
  const auto kept = buses_.find(KeyOf(device));
  if (kept != buses_.end()) return &kept->second;
  const Result<LinkModel> bus = MeasureBus(device, clock_);
  if (!bus.ok()) return nullptr;
  return &(buses_[KeyOf(device)] = *bus);
}

const MeasuredRates::Processor* DeviceProbe::ComputeOf(Device& device) {
  const auto kept = computed_.find(KeyOf(device));
  if (kept != computed_.end()) return &kept->second;
  const Result<MeasuredRates::Processor> rates = MeasureCompute(device, kernels_, ops_, clock_);
  if (!rates.ok()) return nullptr;
  return &(computed_[KeyOf(device)] = *rates);
}

void DeviceProbe::Measure(const std::vector<std::unique_ptr<Device>>& devices, int threads,
                          MeasuredRates* rates) {
  MutexLock lock(mutex_);
  for (const auto& device : devices) {
    if (device->type() == kCpu) {
      const MeasuredRates::Processor* const processor = ProcessorOf(threads);
      if (processor != nullptr) rates->processors[device->full_name()] = *processor;
    } else if (!device->host_addressable()) {
      const LinkModel* const bus = BusOf(*device);
      if (bus == nullptr) continue;  // who does not copy computes for nobody
      rates->buses[device->full_name()] = *bus;
      const MeasuredRates::Processor* const computed = ComputeOf(*device);
      if (computed != nullptr) rates->processors[device->full_name()] = *computed;
    }
  }
}

}  // namespace thalweg
