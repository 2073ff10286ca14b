// SPDX-License-Identifier: Apache-2.0
// What needs no driver: that there is none where nobody asks, and what is said where there is none.
#include "thalweg/devices/gpu/cuda/cuda_api.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thalweg/devices/gpu/gpu_factory.h"

namespace thalweg {
namespace {

using ::testing::HasSubstr;

TEST(CudaFactoryTest, NothingIsOpenedWhereNobodyAsks) {
  const DeviceRequest request = {.job = "localhost", .host_allocator = MakeCpuAllocator(1 << 20)};
  EXPECT_TRUE(MakeGpuDevices(request)->empty());
  EXPECT_TRUE(MakeCudaDevices(request)->empty());
  EXPECT_EQ(dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD), nullptr);
}

TEST(CudaFactoryTest, WithoutADriverTheRemedyIsSaid) {
  const Status status = MakeCudaDevices({.job = "localhost",
                                         .device_count = {{"GPU", 1000}},
                                         .host_allocator = MakeCpuAllocator(1 << 20)})
                            .status();
  ASSERT_FALSE(status.ok());
  if (status.code() != Code::kNotFound) return;  // there is a driver
  EXPECT_THAT(status.message(), HasSubstr("libcuda.so.1"));
  EXPECT_THAT(status.message(), HasSubstr("container toolkit"));
}

TEST(CudaVersionTest, IsMajorAndMinor) {
  EXPECT_EQ(CudaVersion(11020), "11.2");
  EXPECT_EQ(CudaVersion(12040), "12.4");
}

}  // namespace
}  // namespace thalweg
