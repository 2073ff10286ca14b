// SPDX-License-Identifier: Apache-2.0
// What needs no device: numbers, errors, and that there is none where nobody asks.
#include "thalweg/devices/gpu/opencl/opencl_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thalweg/devices/gpu/gpu_factory.h"

#if __has_include(<CL/cl.h>)
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#endif

namespace thalweg {
namespace {

using ::testing::HasSubstr;

TEST(OpenClFactoryTest, ThereIsNoneWhereNobodyAsks) {
  EXPECT_TRUE(MakeOpenClDevices({.job = "localhost", .host_allocator = MakeCpuAllocator(1 << 20)})
                  ->empty());
  EXPECT_TRUE(MakeOpenClDevices({.job = "localhost",
                                 .device_count = {{"GPU", 0}},
                                 .host_allocator = MakeCpuAllocator(1 << 20)})
                  ->empty());
}

TEST(OpenClFactoryTest, MoreThanThereAreIsAnErrorThatSaysWhatIsMissing) {
  const Status status = MakeOpenClDevices({.job = "localhost",
                                           .device_count = {{"GPU", 1000}},
                                           .host_allocator = MakeCpuAllocator(1 << 20)})
                            .status();
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(status.message(), HasSubstr("OpenCL"));
}

TEST(OpenClErrorTest, SaysWhatToExpect) {
  EXPECT_EQ(OpenClError("x", -4).code(), Code::kResourceExhausted);
  EXPECT_EQ(OpenClError("x", -2).code(), Code::kUnavailable);
  EXPECT_EQ(OpenClError("x", -30).code(), Code::kInternal);
  EXPECT_THAT(OpenClError("start a kernel", -54).message(),
              HasSubstr("start a kernel: CL_INVALID_WORK_GROUP_SIZE (-54)"));
}

#ifdef CL_VERSION_1_2
TEST(OpenClApiTest, NumbersAreTheSpecifications) {
  EXPECT_EQ(cl::kDeviceNotFound, CL_DEVICE_NOT_FOUND);
  EXPECT_EQ(cl::kDeviceNotAvailable, CL_DEVICE_NOT_AVAILABLE);
  EXPECT_EQ(cl::kMemObjectAllocationFailure, CL_MEM_OBJECT_ALLOCATION_FAILURE);
  EXPECT_EQ(cl::kOutOfResources, CL_OUT_OF_RESOURCES);
  EXPECT_EQ(cl::kOutOfHostMemory, CL_OUT_OF_HOST_MEMORY);
  EXPECT_EQ(cl::kBuildProgramFailure, CL_BUILD_PROGRAM_FAILURE);
  EXPECT_EQ(cl::kInvalidContext, CL_INVALID_CONTEXT);
  EXPECT_EQ(cl::kInvalidCommandQueue, CL_INVALID_COMMAND_QUEUE);
  EXPECT_EQ(cl::kInvalidBufferSize, CL_INVALID_BUFFER_SIZE);
  EXPECT_EQ(cl::kComplete, CL_COMPLETE);
  EXPECT_EQ(cl::kTypeCpu, CL_DEVICE_TYPE_CPU);
  EXPECT_EQ(cl::kTypeGpu, CL_DEVICE_TYPE_GPU);
  EXPECT_EQ(cl::kTypeAccelerator, CL_DEVICE_TYPE_ACCELERATOR);
  EXPECT_EQ(cl::kTypeAll, CL_DEVICE_TYPE_ALL);
  EXPECT_EQ(cl::kMemReadWrite, CL_MEM_READ_WRITE);
  EXPECT_EQ(cl::kDeviceType, CL_DEVICE_TYPE);
  EXPECT_EQ(cl::kDeviceMaxWorkGroupSize, CL_DEVICE_MAX_WORK_GROUP_SIZE);
  EXPECT_EQ(cl::kDeviceMaxMemAllocSize, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
  EXPECT_EQ(cl::kDeviceGlobalMemSize, CL_DEVICE_GLOBAL_MEM_SIZE);
  EXPECT_EQ(cl::kDeviceLocalMemSize, CL_DEVICE_LOCAL_MEM_SIZE);
  EXPECT_EQ(cl::kDeviceEndianLittle, CL_DEVICE_ENDIAN_LITTLE);
  EXPECT_EQ(cl::kDeviceAvailable, CL_DEVICE_AVAILABLE);
  EXPECT_EQ(cl::kDeviceCompilerAvailable, CL_DEVICE_COMPILER_AVAILABLE);
  EXPECT_EQ(cl::kDeviceName, CL_DEVICE_NAME);
  EXPECT_EQ(cl::kDeviceVendor, CL_DEVICE_VENDOR);
  EXPECT_EQ(cl::kDriverVersion, CL_DRIVER_VERSION);
  EXPECT_EQ(cl::kDeviceVersion, CL_DEVICE_VERSION);
  EXPECT_EQ(cl::kProgramBinarySizes, CL_PROGRAM_BINARY_SIZES);
  EXPECT_EQ(cl::kProgramBinaries, CL_PROGRAM_BINARIES);
  EXPECT_EQ(cl::kProgramBuildLog, CL_PROGRAM_BUILD_LOG);
}
#endif

}  // namespace
}  // namespace thalweg
