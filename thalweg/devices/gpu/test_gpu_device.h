// SPDX-License-Identifier: Apache-2.0
// GpuDeviceTest: the device of type GPU of a binary of tests (test_kernel_machine.h), copies that
// are waited for, and a kernel.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "thalweg/base/notification.h"
#include "thalweg/devices/gpu/gpu_device.h"
#include "thalweg/devices/gpu/gpu_kernel.h"
#include "thalweg/devices/gpu/test_kernel_machine.h"

namespace thalweg {

inline Result<std::vector<std::unique_ptr<Device>>> MakeOneUnderTest(const DeviceRequest& request) {
  DeviceRequest asked = request;
  asked.device_count = {{"GPU", 1}};
  return MakeDevicesUnderTest(asked);
}

inline constexpr const char* kTwiceSource = R"(
__kernel void twice(__global const float* xb, ulong x0, __global float* yb, ulong y0, uint n) {
  const uint i = get_global_id(0);
  if (i < n) yb[y0 + i] = 2 * xb[x0 + i];
})";

class GpuDeviceTest : public ::testing::Test {
 protected:
  void SetUp() override { Open(""); }
  void Open(const std::string& cache) {
    opened = MakeOneUnderTest(
        {.job = "localhost", .host_allocator = MakeCpuAllocator(kLimit), .cache_directory = cache});
    ASSERT_TRUE(opened.ok()) << opened.status().ToString();
    device = static_cast<GpuDevice*>(opened->front().get());
  }
  using Copy = void (Device::*)(const Tensor&, Device::CopyDone);
  Result<Tensor> Copied(Copy copy, const Tensor& tensor) {
    Result<Tensor> copied = Internal("not yet");
    Notification ended;
    (device->*copy)(tensor, [&](Result<Tensor> result) {
      copied = std::move(result);
      ended.Notify();
    });
    ended.Wait();
    return copied;
  }
  Tensor There(const Tensor& tensor) { return *Copied(&Device::CopyFromHost, tensor); }
  Result<Tensor> Back(const Tensor& tensor) { return Copied(&Device::CopyToHost, tensor); }
  // y = 2 x, queued.
  Result<Tensor> Twice(const Tensor& x) {
    ASSIGN_OR_RETURN(const GpuFunction kernel, device->programs().Find(kTwiceSource, "twice"));
    ASSIGN_OR_RETURN(Tensor y, device->Allocate(DType::kFloat, x.shape()));
    const auto n = static_cast<uint32_t>(x.num_elements());
    GpuLaunch launch(kernel);
    launch.Add(x).Add(y).Value(n);
    RETURN_IF_ERROR(RunLine(device->queue(), launch, n));
    return y;
  }

  static constexpr int64_t kLimit = int64_t{64} << 20;
  Result<std::vector<std::unique_ptr<Device>>> opened = Internal("not yet");
  GpuDevice* device = nullptr;
};

}  // namespace thalweg
