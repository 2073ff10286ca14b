// SPDX-License-Identifier: Apache-2.0
#include "thalweg/placement/measured_rates.h"

#include <gtest/gtest.h>

#include "thalweg/kernel/test_device.h"

namespace thalweg {
namespace {

constexpr const char* kTask0 = "/job:w/replica:0/task:0";
constexpr const char* kTask1 = "/job:w/replica:0/task:1";

class MeasuredRatesTest : public ::testing::Test {
 protected:
  Machine Make() { return MeasuredMachine(devices_, rates_); }

  NamedDevice cpu0_{"/job:w/replica:0/task:0/device:CPU:0"};
  NamedDevice cpu1_{"/job:w/replica:0/task:0/device:CPU:1"};
  NamedDevice gpu_{"/job:w/replica:0/task:0/device:GPU:0", 1, false};
  NamedDevice far_{"/job:w/replica:0/task:1/device:CPU:0"};
  NamedDevice far_gpu_{"/job:w/replica:0/task:1/device:GPU:0", 1, false};
  const std::vector<Device*> devices_ = {&cpu0_, &cpu1_, &gpu_, &far_, &far_gpu_};
  MeasuredRates rates_;
};

TEST_F(MeasuredRatesTest, WithoutThemAllIsGuessed) {
  const Machine machine = Make(), guess = Machine::Guess(devices_);
  for (int from = 0; from < machine.num_devices(); ++from) {
    EXPECT_EQ(machine.device(from).flops, guess.device(from).flops);
    EXPECT_EQ(machine.device(from).source, RateSource::kGuessed);
    for (int to = 0; to < machine.num_devices(); ++to) {
      if (from == to) continue;
      EXPECT_EQ(machine.link(from, to).latency, guess.link(from, to).latency);
      EXPECT_EQ(machine.link(from, to).source, RateSource::kGuessed);
    }
  }
}

TEST_F(MeasuredRatesTest, WhatWasMeasuredTakesTheGuessesPlace) {
  rates_.processors[cpu0_.full_name()] = {.flops = 3e11, .bytes = 4e10};
  rates_.processors[gpu_.full_name()] = {.flops = 1e12, .bytes = 2e11, .node_seconds = 9e-6};
  rates_.buses[gpu_.full_name()] = {.latency = 1e-3, .bytes_per_second = 1e6};
  rates_.AddTasks(kTask1, kTask0, {.latency = 2e-3, .bytes_per_second = 1e6});
  const Machine machine = Make();
  ASSERT_TRUE(machine.Validate().ok());
  EXPECT_EQ(machine.device(0).flops, 3e11);
  EXPECT_EQ(machine.device(0).source, RateSource::kMeasured);
  EXPECT_EQ(machine.device(0).node_seconds, Machine::Guess(devices_).device(0).node_seconds);
  EXPECT_EQ(machine.device(1).source, RateSource::kGuessed);
  EXPECT_EQ(machine.device(2).bytes, 2e11);
  EXPECT_EQ(machine.device(2).node_seconds, 9e-6);
  EXPECT_EQ(machine.link(0, 1).source, RateSource::kGuessed);  // a pointer
  EXPECT_EQ(machine.link(1, 2).latency, 1e-3);
  EXPECT_EQ(machine.link(3, 0).latency, 2e-3);
  EXPECT_EQ(machine.link(0, 3).source, RateSource::kMeasured);
  // Over the bus, then over the network; the far device's bus is not known, and not counted.
  EXPECT_DOUBLE_EQ(machine.link(2, 3).latency, 3e-3);
  EXPECT_DOUBLE_EQ(machine.link(2, 3).bytes_per_second, 5e5);
  EXPECT_DOUBLE_EQ(machine.link(0, 4).latency, 2e-3);
  EXPECT_EQ(machine.link(3, 4).source, RateSource::kGuessed);
}

TEST_F(MeasuredRatesTest, WhatIsNoRateIsNotMeasured) {
  rates_.processors[cpu0_.full_name()] = {.flops = 3e11, .bytes = 0};
  rates_.buses[gpu_.full_name()] = {.latency = -1, .bytes_per_second = 1e6};
  rates_.AddTasks(kTask0, kTask1, {.latency = 0, .bytes_per_second = 0});
  const Machine machine = Make();
  EXPECT_TRUE(machine.Validate().ok());
  EXPECT_EQ(machine.device(0).source, RateSource::kGuessed);
  EXPECT_EQ(machine.link(0, 2).source, RateSource::kGuessed);
  EXPECT_EQ(machine.link(0, 3).source, RateSource::kGuessed);
}

TEST_F(MeasuredRatesTest, Text) {
  EXPECT_EQ(RatesText(DeviceModel{.flops = 5e10, .bytes = 1.25e10, .source = RateSource::kGuessed}),
            "50 Gop/s, 12.5 GB/s, a node 0.2 us (guessed)");
  EXPECT_EQ(RatesText(LinkModel{
                .latency = 1e-4, .bytes_per_second = 2e3, .source = RateSource::kMeasured}),
            "100 us, 2 kB/s (measured)");
  EXPECT_EQ(RatesText(LinkModel{}), "0 s, no copy (as given)");
}

}  // namespace
}  // namespace thalweg
