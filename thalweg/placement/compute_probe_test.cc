// SPDX-License-Identifier: Apache-2.0
#include "thalweg/placement/compute_probe.h"

#include <gtest/gtest.h>

#include "thalweg/placement/test_timed_device.h"

namespace thalweg {
namespace {

class ComputeProbeTest : public ::testing::Test {
 protected:
  Result<MeasuredRates::Processor> Measure() {
    return MeasureCompute(gpu, kernels, std::make_shared<OpRegistry>(), clock);
  }

  FakeClock clock;
  TimedDevice gpu{"/job:w/replica:0/task:0/device:GPU:0", &clock};
  KernelRegistry kernels;
};

TEST_F(ComputeProbeTest, RatesAreWhatItsKernelsTake) {
  AddTimedKernels(kernels);
  const Result<MeasuredRates::Processor> rates = Measure();
  ASSERT_TRUE(rates.ok()) << rates.status().ToString();
  EXPECT_NEAR(rates->node_seconds, 5e-6, 1e-8);
  // The largest matrices for which this device has memory have sides of 512: 67 and 21 us beside
  // the 5 of every call.
  EXPECT_NEAR(rates->flops, 2.0 * 512 * 512 * 512 / 72.1e-6, 1e10);
  EXPECT_NEAR(rates->bytes, 2.0 * 4 * 512 * 512 / 26e-6, 1e9);
  EXPECT_LT(gpu.computed, 200);
}

// As where another program has the processor: a wait that takes longer than calls behind it would
// leave nothing of their time.
TEST_F(ComputeProbeTest, AWaitThatIsDisturbedIsNotBelieved) {
  AddTimedKernels(kernels);
  gpu.fast_before = 2;  // of the kernels' first calls
  gpu.slow_copies = 3;  // all tries of the first wait
  const Result<MeasuredRates::Processor> rates = Measure();
  ASSERT_TRUE(rates.ok()) << rates.status().ToString();
  EXPECT_EQ(gpu.slow_copies, 0);
  EXPECT_NEAR(rates->node_seconds, 5e-6, 1e-8);
  EXPECT_NEAR(rates->flops, 2.0 * 512 * 512 * 512 / 72.1e-6, 1e10);
}

TEST_F(ComputeProbeTest, ADeviceWithoutTheKernelsIsNotMeasured) {
  EXPECT_EQ(Measure().status().code(), Code::kNotFound);
  kernels.Add<TimedMatMul>("MatMul", "GPU", {{"T", DType::kFloat}});
  EXPECT_EQ(Measure().status().code(), Code::kNotFound);
  kernels.Add<TimedNeg>("Neg", "GPU", {{"T", DType::kFloat}}).HostMemory({"x"});
  EXPECT_EQ(Measure().status().code(), Code::kUnimplemented);
  EXPECT_EQ(gpu.computed, 0);
}

TEST_F(ComputeProbeTest, ASilentDeviceEndsItsMeasurement) {
  AddTimedKernels(kernels);
  gpu.silent = true;
  EXPECT_EQ(Measure().status().code(), Code::kDeadlineExceeded);
  gpu.silent = false;
  gpu.refusal = Unavailable("lost");
  EXPECT_EQ(Measure().status().code(), Code::kUnavailable);
}

class FailingMatMul : public Kernel {
  Status Compute(Context& ctx) override {
    return Internal("no products of ", ctx.input(0).shape());
  }
};

TEST_F(ComputeProbeTest, WhatAKernelSaysIsTheError) {
  kernels.Add<FailingMatMul>("MatMul", "GPU", {{"T", DType::kFloat}});
  kernels.Add<TimedNeg>("Neg", "GPU", {{"T", DType::kFloat}});
  EXPECT_EQ(Measure().status().message(), "no products of [64,64]");
}

}  // namespace
}  // namespace thalweg
