// SPDX-License-Identifier: Apache-2.0
#include "thalweg/devices/fake/fake_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thalweg/testing/device_conformance.h"

namespace thalweg {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Result<std::vector<std::unique_ptr<Device>>> MakeTwo(const DeviceRequest& request) {
  DeviceRequest asked = request;
  asked.device_count = {{"FAKE", 2}};
  return MakeFakeDevices(asked);
}

class FakeConformance : public ::testing::TestWithParam<DeviceCheck> {};
TEST_P(FakeConformance, Holds) { CheckDevice({.factory = MakeTwo}, GetParam()); }
INSTANTIATE_TEST_SUITE_P(All, FakeConformance, ::testing::ValuesIn(DeviceChecks()),
                         DeviceCheckName);

Result<Tensor> Copied(Device& device, void (Device::*copy)(const Tensor&, Device::CopyDone),
                      const Tensor& tensor) {
  Result<Tensor> copied = Internal("not yet");
  (device.*copy)(tensor, [&](Result<Tensor> result) { copied = std::move(result); });
  return copied;
}

class FakeDeviceTest : public ::testing::Test {
 protected:
  FakeDeviceTest()
      : devices(*MakeFakeDevices({.job = "localhost",
                                  .device_count = {{"FAKE", 1}},
                                  .host_allocator = MakeCpuAllocator(int64_t{1} << 26)})),
        device(static_cast<FakeDevice&>(*devices.front())) {}
  std::vector<std::unique_ptr<Device>> devices;
  FakeDevice& device;
};

TEST_F(FakeDeviceTest, ThereIsNoneWhereNobodyAsks) {
  EXPECT_TRUE(
      MakeFakeDevices({.job = "localhost", .host_allocator = MakeCpuAllocator(1 << 20)})->empty());
}

TEST_F(FakeDeviceTest, ScalarsLieInItsMemoryToo) {
  const Result<Tensor> scalar = device.Allocate(DType::kFloat, Shape{});
  ASSERT_TRUE(scalar.ok());
  EXPECT_TRUE(device.Has(*scalar));
  EXPECT_TRUE(device.Has(*device.Allocate(DType::kInt8, Shape{0})));
  EXPECT_FALSE(device.Allocate(DType::kString, Shape{2}).ok());
}

TEST_F(FakeDeviceTest, ACopyTakesWhatIsOnItsOwnSide) {
  const Tensor here = Tensor::Vector<float>({1, 2, 3});
  const Result<Tensor> there = Copied(device, &Device::CopyFromHost, here);
  ASSERT_TRUE(there.ok()) << there.status().ToString();
  EXPECT_THAT(Copied(device, &Device::CopyFromHost, *there).status().message(),
              HasSubstr("is in the device's memory already"));
  EXPECT_THAT(Copied(device, &Device::CopyToHost, here).status().message(),
              HasSubstr("is not in the device's memory"));
  const Result<Tensor> back = Copied(device, &Device::CopyToHost, *there);
  ASSERT_TRUE(back.ok());
  EXPECT_THAT(back->flat<float>(), ElementsAre(1, 2, 3));
}

TEST_F(FakeDeviceTest, WhatTheHostTouchesFaults) {
  Tensor there = *Copied(device, &Device::CopyFromHost, Tensor::Vector<float>({1, 2, 3}));
  EXPECT_DEATH([[maybe_unused]] const volatile float read = there.data<float>()[1], "");
  EXPECT_DEATH(there.mutable_data<float>()[1] = 2, "");
}

TEST_F(FakeDeviceTest, AFreedBlockIsOverwritten) {
  Tensor there = *Copied(device, &Device::CopyFromHost, Tensor::Vector<float>({1, 2, 3}));
  const auto* const readable =
      static_cast<const unsigned char*>(device.memory().Readable(there.raw_data()));
  there = Tensor();
  EXPECT_EQ(readable[0], 0xA5);
  EXPECT_EQ(readable[11], 0xA5);
}

TEST_F(FakeDeviceTest, ALostDeviceTakesAndGivesNothing) {
  const Tensor here = Tensor::Vector<float>({1, 2, 3});
  const Tensor there = *Copied(device, &Device::CopyFromHost, here);
  EXPECT_TRUE(WhyLost(device).ok());
  device.Lose();
  for (const Status& status :
       {WhyLost(device), Copied(device, &Device::CopyFromHost, here).status(),
        Copied(device, &Device::CopyToHost, there).status()}) {
    EXPECT_EQ(status.code(), Code::kUnavailable);
    EXPECT_THAT(status.message(), HasSubstr(device.full_name() + " is lost"));
  }
}

TEST(FakePeersTest, ACopyFromOneThatIsLostNamesIt) {
  const auto devices =
      *MakeTwo({.job = "localhost", .host_allocator = MakeCpuAllocator(int64_t{1} << 26)});
  auto& first = static_cast<FakeDevice&>(*devices[0]);
  auto& second = static_cast<FakeDevice&>(*devices[1]);
  const Tensor x = *Copied(first, &Device::CopyFromHost, Tensor::Vector<float>({1, 2}));
  const Tensor copy = *second.CopyFromPeer(x);
  EXPECT_TRUE(second.Has(copy) && !first.Has(copy));
  EXPECT_THAT(second.CopyFromPeer(copy).status().message(),
              HasSubstr("in the memory of no device that it reaches"));
  first.Lose();
  const Status lost = second.CopyFromPeer(x).status();
  EXPECT_EQ(lost.code(), Code::kUnavailable);
  EXPECT_THAT(lost.message(), HasSubstr(first.full_name() + " is lost"));
  EXPECT_TRUE(WhyLost(second).ok());
}

TEST_F(FakeDeviceTest, TensorsOutliveTheDevice) {
  const Tensor there = *Copied(device, &Device::CopyFromHost, Tensor::Vector<float>({1, 2, 3}));
  const void* const readable = device.memory().Readable(there.raw_data());
  devices.clear();
  EXPECT_EQ(static_cast<const float*>(readable)[2], 3);
}

}  // namespace
}  // namespace thalweg
