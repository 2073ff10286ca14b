// SPDX-License-Identifier: Apache-2.0
#include "thalweg/placement/device_probe.h"

#include <gtest/gtest.h>

#include <memory>

#include "thalweg/base/cgroup.h"
#include "thalweg/placement/test_timed_device.h"

namespace thalweg {
namespace {

constexpr const char* kGpu = "/job:w/replica:0/task:0/device:GPU:0";

TEST(DeviceProbeTest, ABusIsWhatCopiesTake) {
  FakeClock clock;
  TimedDevice gpu(kGpu, &clock);
  const Result<LinkModel> bus = MeasureBus(gpu, clock);
  ASSERT_TRUE(bus.ok()) << bus.status().ToString();
  EXPECT_NEAR(bus->latency, 7e-6, 1e-7);
  EXPECT_NEAR(bus->bytes_per_second, 2e9, 1e6);
  EXPECT_EQ(bus->source, RateSource::kMeasured);
  EXPECT_LT(gpu.copied, 32 << 20);
}

TEST(DeviceProbeTest, ASilentDeviceEndsItsMeasurement) {
  FakeClock clock;
  TimedDevice gpu(kGpu, &clock);
  gpu.silent = true;
  EXPECT_EQ(MeasureBus(gpu, clock).status().code(), Code::kDeadlineExceeded);
  gpu.silent = false;
  gpu.refusal = Unavailable("lost");
  EXPECT_EQ(MeasureBus(gpu, clock).status().code(), Code::kUnavailable);
}

TEST(DeviceProbeTest, MeasuresOnceAndTriesAgainWhatFailed) {
  FakeClock clock;
  std::vector<std::unique_ptr<Device>> devices;
  devices.push_back(std::make_unique<NamedDevice>("/job:w/replica:0/task:0/device:CPU:0"));
  devices.push_back(std::make_unique<NamedDevice>("/job:w/replica:0/task:0/device:CPU:1"));
  auto made = std::make_unique<TimedDevice>(kGpu, &clock);
  TimedDevice& gpu = *made;
  devices.push_back(std::move(made));
  KernelRegistry kernels;
  AddTimedKernels(kernels);
  DeviceProbe probe(clock, kernels, std::make_shared<OpRegistry>());

  gpu.silent = true;
  MeasuredRates first;
  probe.Measure(devices, 1, &first);
  EXPECT_TRUE(first.buses.empty());
  ASSERT_EQ(first.processors.size(), 2U);  // of the device nothing is known
  const MeasuredRates::Processor cpu = first.processors.begin()->second;
  EXPECT_GT(cpu.flops, 0);
  EXPECT_GT(cpu.bytes, 0);
  EXPECT_EQ(first.processors.rbegin()->second.flops, cpu.flops);

  gpu.silent = false;
  MeasuredRates second;
  probe.Measure(devices, 1, &second);
  EXPECT_EQ(second.buses.size(), 1U);
  EXPECT_EQ(second.processors.begin()->second.flops, cpu.flops);  // kept
  ASSERT_EQ(second.processors.count(kGpu), 1U);
  EXPECT_NEAR(second.processors[kGpu].node_seconds, 5e-6, 1e-8);

  const int64_t copied = gpu.copied, computed = gpu.computed;
  MeasuredRates third;
  probe.Measure(devices, 1, &third);
  EXPECT_EQ(gpu.copied, copied);
  EXPECT_EQ(gpu.computed, computed);
  EXPECT_EQ(third.processors[kGpu].flops, second.processors[kGpu].flops);
}

// Its bus is known all the same.
TEST(DeviceProbeTest, ADeviceWithoutKernelsIsGuessed) {
  FakeClock clock;
  std::vector<std::unique_ptr<Device>> devices;
  devices.push_back(std::make_unique<TimedDevice>(kGpu, &clock));
  const KernelRegistry kernels;
  DeviceProbe probe(clock, kernels, std::make_shared<OpRegistry>());
  MeasuredRates rates;
  probe.Measure(devices, 1, &rates);
  EXPECT_EQ(rates.buses.size(), 1U);
  EXPECT_TRUE(rates.processors.empty());
}

TEST(DeviceProbeTest, ThreadsThatCannotRunAtOnceDoNotCount) {
  FakeClock clock;
  std::vector<std::unique_ptr<Device>> devices;
  devices.push_back(std::make_unique<NamedDevice>("/job:w/replica:0/task:0/device:CPU:0"));
  const KernelRegistry kernels;
  DeviceProbe probe(clock, kernels, std::make_shared<OpRegistry>());
  MeasuredRates all, more;
  probe.Measure(devices, UsableProcessors(), &all);
  probe.Measure(devices, UsableProcessors() + 3, &more);
  ASSERT_EQ(all.processors.size(), 1U);
  EXPECT_EQ(more.processors.begin()->second.flops, all.processors.begin()->second.flops);
}

}  // namespace
}  // namespace thalweg
