// SPDX-License-Identifier: Apache-2.0
#include "thalweg/devices/cpu/cpu_device.h"

#include "thalweg/testing/device_conformance.h"

namespace thalweg {
namespace {

class CpuConformance : public ::testing::TestWithParam<DeviceCheck> {};
TEST_P(CpuConformance, Holds) { CheckDevice({.factory = MakeCpuDevices}, GetParam()); }
INSTANTIATE_TEST_SUITE_P(All, CpuConformance, ::testing::ValuesIn(DeviceChecks()), DeviceCheckName);

TEST(CpuDeviceTest, CopiesShareTheBuffer) {
  auto devices = *MakeCpuDevices({.job = "localhost", .host_allocator = MakeCpuAllocator(1 << 20)});
  const Tensor tensor = Tensor::Vector<float>({1, 2, 3});
  Tensor copy;
  devices[0]->CopyFromHost(tensor, [&](const Result<Tensor>& result) {
    if (result.ok()) copy = *result;
  });
  EXPECT_EQ(copy.raw_data(), tensor.raw_data());
  EXPECT_EQ(devices[0]->full_name(), "/job:localhost/replica:0/task:0/device:CPU:0");
}

TEST(CpuDeviceTest, TensorsOutliveTheDevice) {
  Tensor tensor;
  AllocatorPtr allocator = MakeCpuAllocator(1 << 24);
  {
    auto devices = *MakeCpuDevices({.job = "localhost", .host_allocator = std::move(allocator)});
    tensor = *Tensor::Allocate(devices[0]->allocator(), DType::kFloat, Shape{1 << 20});
  }
  tensor.mutable_data<float>()[(1 << 20) - 1] = 1;
  EXPECT_EQ(tensor.data<float>()[(1 << 20) - 1], 1);
}

}  // namespace
}  // namespace thalweg
