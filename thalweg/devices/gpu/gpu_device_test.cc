// SPDX-License-Identifier: Apache-2.0
// What holds for every device of type GPU, whatever its driver.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "thalweg/base/test_temporary_directory.h"
#include "thalweg/devices/gpu/test_gpu_device.h"
#include "thalweg/testing/device_conformance.h"

namespace thalweg {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class GpuConformance : public ::testing::TestWithParam<DeviceCheck> {};
TEST_P(GpuConformance, Holds) { CheckDevice({.factory = MakeOneUnderTest}, GetParam()); }
INSTANTIATE_TEST_SUITE_P(All, GpuConformance, ::testing::ValuesIn(DeviceChecks()), DeviceCheckName);

TEST_F(GpuDeviceTest, WhatTheHostTouchesFaults) {
  Tensor there = There(Tensor::Vector<float>({1, 2, 3}));
  EXPECT_DEATH([[maybe_unused]] const volatile float read = there.data<float>()[1], "");
}

TEST_F(GpuDeviceTest, ScalarsLieInItsMemoryToo) {
  const Result<Tensor> scalar = device->Allocate(DType::kFloat, Shape{});
  ASSERT_TRUE(scalar.ok());
  EXPECT_TRUE(device->Has(*scalar));
}

TEST_F(GpuDeviceTest, AKernelRunsBehindTheCopyThatItReads) {
  Tensor x = There(Tensor::Vector<float>({1, 2, 3}));
  for (int i = 0; i < 1000; ++i) {
    const Result<Tensor> y = Twice(x);
    ASSERT_TRUE(y.ok()) << y.status().ToString();
    // The block is given out again.
    x = i % 20 == 19 ? There(Tensor::Vector<float>({1, 2, 3})) : *y;
  }
  const Result<Tensor> back = Back(x);
  ASSERT_TRUE(back.ok()) << back.status().ToString();
  EXPECT_THAT(back->flat<float>(), ElementsAre(1, 2, 3));
}

TEST_F(GpuDeviceTest, CallsFromManyThreadsKeepTheirArguments) {
  std::vector<std::thread> threads;
  std::vector<Tensor> results(4);
  for (size_t t = 0; t < results.size(); ++t) {
    threads.emplace_back([&, t] {
      const Tensor x =
          There(Tensor::Of<float>(std::vector<float>(1000, float(t + 1)), Shape{1000}));
      for (int i = 0; i < 50; ++i) results[t] = *Twice(x);
      results[t] = *Back(results[t]);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t t = 0; t < results.size(); ++t) {
    EXPECT_THAT(results[t].flat<float>(), Each(2 * float(t + 1)));
  }
}

TEST_F(GpuDeviceTest, AKernelThatDoesNotCompileNamesTheDeviceAndTheFault) {
  const Status status = device->programs().Find("__kernel void f() { nonsense; }", "f").status();
  EXPECT_EQ(status.code(), Code::kInternal);
  EXPECT_THAT(status.message(), HasSubstr(device->traits().name));
  EXPECT_THAT(status.message(), HasSubstr("nonsense"));
}

TEST_F(GpuDeviceTest, AKernelRefusesATensorOfTheHost) {
  EXPECT_THAT(Twice(Tensor::Vector<float>({1, 2, 3})).status().message(),
              HasSubstr("is not in the device's memory"));
}

TEST_F(GpuDeviceTest, TrimGivesUnusedMemoryBackAndBlocksLiveOn) {
  const Tensor kept = There(Tensor::Vector<float>({1, 2, 3}));
  { const Tensor large = *device->Allocate(DType::kFloat, Shape{8 << 20}); }
  const int64_t before = device->allocator().Stats().bytes_kept;
  device->allocator().Trim();
  EXPECT_LT(device->allocator().Stats().bytes_kept, before);
  EXPECT_THAT(Back(kept)->flat<float>(), ElementsAre(1, 2, 3));
}

TEST_F(GpuDeviceTest, TensorsOutliveTheDevice) {
  Tensor there = There(Tensor::Vector<float>({1, 2, 3}));
  opened->clear();
  there = Tensor();
}

TEST_F(GpuDeviceTest, ABinaryIsReadByTheNextDevice) {
  const TemporaryDirectory folder;
  Open(folder.path());
  ASSERT_TRUE(device->programs().Find(kTwiceSource, "twice").ok());
  EXPECT_EQ(device->programs().compiled(), 1);
  Open(folder.path());
  const Tensor y = *Twice(There(Tensor::Vector<float>({1, 2, 3})));
  EXPECT_EQ(device->programs().compiled(), 0);
  EXPECT_THAT(Back(y)->flat<float>(), ElementsAre(2, 4, 6));
}

}  // namespace
}  // namespace thalweg
