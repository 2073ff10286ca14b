// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <thread>

#include "thalweg/base/notification.h"
#include "thalweg/base/test_temporary_directory.h"
#include "thalweg/devices/gpu/gpu_device.h"
#include "thalweg/devices/gpu/gpu_factory.h"
#include "thalweg/devices/gpu/gpu_kernel.h"
#include "thalweg/devices/gpu/opencl/opencl_driver.h"

namespace thalweg {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A processor will do.
Result<std::vector<std::unique_ptr<Device>>> MakeAsked(const DeviceRequest& request) {
  DeviceRequest asked = request;
  asked.device_count = {{"GPU", 1}};
  return MakeOpenClDevices(asked);
}

class OpenClDeviceTest : public ::testing::Test {
 protected:
  void SetUp() override { Open(""); }
  void Open(const std::string& cache) {
    opened = MakeAsked(
        {.job = "localhost", .host_allocator = MakeCpuAllocator(kLimit), .cache_directory = cache});
    ASSERT_TRUE(opened.ok()) << opened.status().ToString();
    device = static_cast<GpuDevice*>(opened->front().get());
  }
  Result<Tensor> Copied(void (Device::*copy)(const Tensor&, Device::CopyDone),
                        const Tensor& tensor) {
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

  static constexpr int64_t kLimit = int64_t{64} << 20;
  Result<std::vector<std::unique_ptr<Device>>> opened = Internal("not yet");
  GpuDevice* device = nullptr;
};

constexpr const char* kTwice = R"(
__kernel void twice(__global const float* xb, ulong x0, __global float* yb, ulong y0, uint n) {
  const uint i = get_global_id(0);
  if (i < n) yb[y0 + i] = 2 * xb[x0 + i];
})";

TEST_F(OpenClDeviceTest, WhatTheHostTouchesFaults) {
  Tensor there = There(Tensor::Vector<float>({1, 2, 3}));
  EXPECT_DEATH([[maybe_unused]] const volatile float read = there.data<float>()[1], "");
}

TEST_F(OpenClDeviceTest, ScalarsLieInItsMemoryToo) {
  const Result<Tensor> scalar = device->Allocate(DType::kFloat, Shape{});
  ASSERT_TRUE(scalar.ok());
  EXPECT_TRUE(device->Has(*scalar));
}

TEST_F(OpenClDeviceTest, AKernelRunsBehindTheCopyThatItReads) {
  const Result<GpuFunction> kernel = device->programs().Find(kTwice, "twice");
  ASSERT_TRUE(kernel.ok()) << kernel.status().ToString();
  Tensor x = There(Tensor::Vector<float>({1, 2, 3}));
  for (int i = 0; i < 1000; ++i) {
    Tensor y = *device->Allocate(DType::kFloat, Shape{3});
    GpuLaunch launch(*kernel);
    launch.Add(x).Add(y).Value(uint32_t{3});
    ASSERT_TRUE(RunLine(device->queue(), launch, 3).ok());
    x = i % 20 == 19 ? There(Tensor::Vector<float>({1, 2, 3})) : y;  // the block is given out again
  }
  const Result<Tensor> back = Copied(&Device::CopyToHost, x);
  ASSERT_TRUE(back.ok()) << back.status().ToString();
  EXPECT_THAT(back->flat<float>(), ElementsAre(1, 2, 3));
}

TEST_F(OpenClDeviceTest, CallsFromManyThreadsKeepTheirArguments) {
  const Result<GpuFunction> kernel = device->programs().Find(kTwice, "twice");
  ASSERT_TRUE(kernel.ok());
  std::vector<std::thread> threads;
  std::vector<Tensor> results(4);
  for (size_t t = 0; t < results.size(); ++t) {
    threads.emplace_back([&, t] {
      const Tensor x =
          There(Tensor::Of<float>(std::vector<float>(1000, float(t + 1)), Shape{1000}));
      for (int i = 0; i < 50; ++i) {
        results[t] = *device->Allocate(DType::kFloat, Shape{1000});
        GpuLaunch launch(*kernel);
        launch.Add(x).Add(results[t]).Value(uint32_t{1000});
        EXPECT_TRUE(RunLine(device->queue(), launch, 1000).ok());
      }
      results[t] = *Copied(&Device::CopyToHost, results[t]);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t t = 0; t < results.size(); ++t) {
    EXPECT_THAT(results[t].flat<float>(), Each(2 * float(t + 1)));
  }
}

TEST_F(OpenClDeviceTest, AKernelThatDoesNotCompileNamesTheDeviceAndTheFault) {
  const Status status = device->programs().Find("__kernel void f() { nonsense; }", "f").status();
  EXPECT_EQ(status.code(), Code::kInternal);
  EXPECT_THAT(status.message(), HasSubstr(device->traits().name));
  EXPECT_THAT(status.message(), HasSubstr("nonsense"));
}

TEST_F(OpenClDeviceTest, AKernelRefusesATensorOfTheHost) {
  const Result<GpuFunction> kernel = device->programs().Find(kTwice, "twice");
  ASSERT_TRUE(kernel.ok());
  const Tensor x = Tensor::Vector<float>({1, 2, 3});
  GpuLaunch launch(*kernel);
  launch.Add(x).Add(x).Value(uint32_t{3});
  EXPECT_THAT(RunLine(device->queue(), launch, 3).message(),
              HasSubstr("is not in the device's memory"));
}

TEST_F(OpenClDeviceTest, TrimGivesUnusedMemoryBackAndBlocksLiveOn) {
  const Tensor kept = There(Tensor::Vector<float>({1, 2, 3}));
  { const Tensor large = *device->Allocate(DType::kFloat, Shape{8 << 20}); }
  const int64_t before = device->allocator().Stats().bytes_kept;
  device->allocator().Trim();
  EXPECT_LT(device->allocator().Stats().bytes_kept, before);
  EXPECT_THAT(Copied(&Device::CopyToHost, kept)->flat<float>(), ElementsAre(1, 2, 3));
}

TEST_F(OpenClDeviceTest, TensorsOutliveTheDevice) {
  Tensor there = There(Tensor::Vector<float>({1, 2, 3}));
  opened->clear();
  there = Tensor();
}

// The driver's functions, of which some fail as told: for what no driver does at will.
class FailingDriver {
 public:
  FailingDriver() {
    const auto loaded = OpenClApi::Load();
    loaded_ = loaded.status();
    if (!loaded.ok()) return;
    real_ = *loaded;
    api_ = *real_;
    starting_ = finishing_ = cl::kSuccess;
    is_available_ = true;
    api_.EnqueueNDRangeKernel = [](cl::Queue queue, cl::KernelId kernel, cl::UInt dimensions,
                                   const size_t* offset, const size_t* items, const size_t* group,
                                   cl::UInt waits, const cl::Event* before, cl::Event* event) {
      if (starting_ != cl::kSuccess) return starting_;
      return real_->EnqueueNDRangeKernel(queue, kernel, dimensions, offset, items, group, waits,
                                         before, event);
    };
    api_.Finish = [](cl::Queue queue) {
      const cl::Int error = real_->Finish(queue);
      return finishing_ == cl::kSuccess ? error : finishing_;
    };
    api_.GetDeviceInfo = [](cl::DeviceId id, cl::UInt what, size_t size, void* value,
                            size_t* needed) {
      const cl::Int error = real_->GetDeviceInfo(id, what, size, value, needed);
      if (what == cl::kDeviceAvailable && !is_available_) *static_cast<cl::Bool*>(value) = 0;
      return error;
    };
  }
  Result<std::unique_ptr<GpuDevice>> Device() const {
    RETURN_IF_ERROR(loaded_);
    ASSIGN_OR_RETURN(const std::vector<OpenClChoice> choices, FindOpenClDevices(api_));
    if (choices.empty()) return NotFound("OpenCL's drivers have no device here");
    ASSIGN_OR_RETURN(std::shared_ptr<OpenClDriver> driver, OpenClDriver::Make(api_, choices[0]));
    ASSIGN_OR_RETURN(std::shared_ptr<GpuMemory> memory, GpuMemory::Make(driver, int64_t{64} << 20));
    return std::make_unique<GpuDevice>(
        DeviceRequest{.job = "localhost"}.NameOf(kGpu, 0), 1, std::move(driver), std::move(memory),
        MakeCpuAllocator(int64_t{64} << 20), BinaryCache(""), nullptr);
  }
  // What a call of a kernel gives while the driver fails so.
  static Status Start(GpuDevice& device, cl::Int starting, bool is_available, cl::Int finishing) {
    ASSIGN_OR_RETURN(const GpuFunction kernel, device.programs().Find(kTwice, "twice"));
    ASSIGN_OR_RETURN(const Tensor x, device.Allocate(DType::kFloat, Shape{3}));
    GpuLaunch launch(kernel);
    launch.Add(x).Add(x).Value(uint32_t{3});
    starting_ = starting;
    is_available_ = is_available;
    finishing_ = finishing;
    Status status = RunLine(device.queue(), launch, 3);
    starting_ = finishing_ = cl::kSuccess;
    is_available_ = true;
    return status;
  }

 private:
  static inline const OpenClApi* real_ = nullptr;
  static inline cl::Int starting_ = cl::kSuccess, finishing_ = cl::kSuccess;
  static inline bool is_available_ = true;
  Status loaded_;
  OpenClApi api_;
};

TEST(OpenClLossTest, LossIsToldFromAWrongProgramAndFromWantOfMemory) {
  struct Case {
    cl::Int starting;
    bool is_available;
    cl::Int finishing;
    Code code;
  };
  constexpr cl::Int kInvalidWorkGroupSize = -54;
  const FailingDriver driver;
  for (const Case& c : std::initializer_list<Case>{
           {cl::kDeviceNotAvailable, true, cl::kSuccess, Code::kUnavailable},
           {cl::kInvalidCommandQueue, true, cl::kSuccess, Code::kUnavailable},
           {cl::kInvalidContext, true, cl::kSuccess, Code::kUnavailable},
           {cl::kOutOfResources, false, cl::kSuccess, Code::kUnavailable},
           {cl::kOutOfResources, true, cl::kOutOfResources, Code::kUnavailable},
           {cl::kOutOfResources, true, cl::kSuccess, Code::kResourceExhausted},
           {cl::kMemObjectAllocationFailure, true, cl::kSuccess, Code::kResourceExhausted},
           {kInvalidWorkGroupSize, false, cl::kSuccess, Code::kInternal}}) {
    const auto device = driver.Device();
    ASSERT_TRUE(device.ok()) << device.status().ToString();
    const Status status = driver.Start(**device, c.starting, c.is_available, c.finishing);
    EXPECT_EQ(status.code(), c.code) << status.ToString();
    const bool is_lost = c.code == Code::kUnavailable;
    EXPECT_EQ(WhyLost(**device).ok(), !is_lost);
    if (is_lost) {
      EXPECT_THAT(status.message(), HasSubstr("/device:GPU:0 is lost"));
    }
    // A lost device stays so; any other goes on.
    EXPECT_EQ(driver.Start(**device, cl::kSuccess, true, cl::kSuccess).code(),
              is_lost ? Code::kUnavailable : Code::kOk);
  }
}

TEST_F(OpenClDeviceTest, ABinaryIsReadByTheNextDevice) {
  const TemporaryDirectory folder;
  Open(folder.path());
  ASSERT_TRUE(device->programs().Find(kTwice, "twice").ok());
  EXPECT_EQ(device->programs().compiled(), 1);
  Open(folder.path());
  const Result<GpuFunction> kernel = device->programs().Find(kTwice, "twice");
  ASSERT_TRUE(kernel.ok());
  EXPECT_EQ(device->programs().compiled(), 0);
  const Tensor x = There(Tensor::Vector<float>({1, 2, 3}));
  const Tensor y = *device->Allocate(DType::kFloat, Shape{3});
  GpuLaunch launch(*kernel);
  launch.Add(x).Add(y).Value(uint32_t{3});
  ASSERT_TRUE(RunLine(device->queue(), launch, 3).ok());
  EXPECT_THAT(Copied(&Device::CopyToHost, y)->flat<float>(), ElementsAre(2, 4, 6));
}

}  // namespace
}  // namespace thalweg
