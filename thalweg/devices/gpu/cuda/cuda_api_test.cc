// SPDX-License-Identifier: Apache-2.0
// What needs no driver: that there is none where nobody asks, and what is said where there is none.
#include "thalweg/devices/gpu/cuda/cuda_api.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thalweg/devices/gpu/cuda/cuda_compiler.h"
#include "thalweg/devices/gpu/cuda/test_alike.h"
#include "thalweg/devices/gpu/gpu_factory.h"

#if __has_include(<cuda.h>)
#include <cuda.h>
#endif

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

// It is no driver that is not here: NotFound would say that there is nothing to mend.
TEST(CudaCompilerTest, WithoutACompilerTheRemedyIsSaid) {
  const Status status = CudaCompiler::Load(12).status();
  if (status.ok()) return;  // there is one
  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("pip install nvidia-cuda-nvrtc-cu12"));
}

TEST(CudaVersionTest, IsMajorAndMinor) {
  EXPECT_EQ(CudaVersion(11020), "11.2");
  EXPECT_EQ(CudaVersion(12040), "12.4");
}

#ifdef CUDA_VERSION
TEST(CudaApiTest, FunctionsAndNumbersAreTheDrivers) {
  CudaApi api;
#define EXPECT_ALIKE(name) EXPECT_TRUE(AreAlike(api.name, decltype (&::cu##name)(nullptr))) << #name
  EXPECT_ALIKE(Init);
  EXPECT_ALIKE(DriverGetVersion);
  EXPECT_ALIKE(GetErrorName);
  EXPECT_ALIKE(DeviceGetCount);
  EXPECT_ALIKE(DeviceGet);
  EXPECT_ALIKE(DeviceGetName);
  EXPECT_ALIKE(DeviceGetAttribute);
  EXPECT_ALIKE(DeviceTotalMem);
  EXPECT_ALIKE(DevicePrimaryCtxRetain);
  EXPECT_ALIKE(DevicePrimaryCtxRelease);
  EXPECT_ALIKE(DeviceCanAccessPeer);
  EXPECT_ALIKE(CtxEnablePeerAccess);
  EXPECT_ALIKE(CtxPushCurrent);
  EXPECT_ALIKE(CtxPopCurrent);
  EXPECT_ALIKE(MemAlloc);
  EXPECT_ALIKE(MemFree);
  EXPECT_ALIKE(MemAllocHost);
  EXPECT_ALIKE(MemFreeHost);
  EXPECT_ALIKE(MemcpyHtoDAsync);
  EXPECT_ALIKE(MemcpyDtoHAsync);
  EXPECT_ALIKE(MemcpyDtoDAsync);
  EXPECT_ALIKE(MemcpyPeerAsync);
  EXPECT_ALIKE(StreamCreate);
  EXPECT_ALIKE(StreamDestroy);
  EXPECT_ALIKE(StreamQuery);
  EXPECT_ALIKE(StreamSynchronize);
  EXPECT_ALIKE(StreamWaitEvent);
  EXPECT_ALIKE(EventCreate);
  EXPECT_ALIKE(EventRecord);
  EXPECT_ALIKE(EventSynchronize);
  EXPECT_ALIKE(EventDestroy);
  EXPECT_ALIKE(ModuleLoadData);
  EXPECT_ALIKE(ModuleUnload);
  EXPECT_ALIKE(ModuleGetFunction);
  EXPECT_ALIKE(LaunchKernel);
#undef EXPECT_ALIKE
  EXPECT_EQ(cu::kOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(cu::kDeinitialized, CUDA_ERROR_DEINITIALIZED);
  EXPECT_EQ(cu::kDeviceUnavailable, CUDA_ERROR_DEVICE_UNAVAILABLE);
  EXPECT_EQ(cu::kNoDevice, CUDA_ERROR_NO_DEVICE);
  EXPECT_EQ(cu::kInvalidContext, CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cu::kEccUncorrectable, CUDA_ERROR_ECC_UNCORRECTABLE);
  EXPECT_EQ(cu::kNvlinkUncorrectable, CUDA_ERROR_NVLINK_UNCORRECTABLE);
  EXPECT_EQ(cu::kNotReady, CUDA_ERROR_NOT_READY);
  EXPECT_EQ(cu::kIllegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(cu::kLaunchTimeout, CUDA_ERROR_LAUNCH_TIMEOUT);
  EXPECT_EQ(cu::kContextIsDestroyed, CUDA_ERROR_CONTEXT_IS_DESTROYED);
  EXPECT_EQ(cu::kAssert, CUDA_ERROR_ASSERT);
  EXPECT_EQ(cu::kHardwareStackError, CUDA_ERROR_HARDWARE_STACK_ERROR);
  EXPECT_EQ(cu::kLaunchFailed, CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(cu::kSystemNotReady, CUDA_ERROR_SYSTEM_NOT_READY);
  EXPECT_EQ(cu::kSystemDriverMismatch, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH);
  EXPECT_EQ(cu::kUnknown, CUDA_ERROR_UNKNOWN);
  EXPECT_EQ(cu::kAttributeMultiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  EXPECT_EQ(cu::kAttributeMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  EXPECT_EQ(cu::kAttributeMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  EXPECT_EQ(cu::kStreamNonBlocking, CU_STREAM_NON_BLOCKING);
  EXPECT_EQ(cu::kEventBlockingSync, CU_EVENT_BLOCKING_SYNC);
  EXPECT_EQ(cu::kEventDisableTiming, CU_EVENT_DISABLE_TIMING);
}
#endif

}  // namespace
}  // namespace thalweg
