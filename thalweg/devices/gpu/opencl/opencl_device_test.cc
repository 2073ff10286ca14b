// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thalweg/devices/gpu/opencl/opencl_driver.h"
#include "thalweg/devices/gpu/test_gpu_device.h"

namespace thalweg {
namespace {

using ::testing::HasSubstr;

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
    ASSIGN_OR_RETURN(const GpuFunction kernel, device.programs().Find(kTwiceSource, "twice"));
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

}  // namespace
}  // namespace thalweg
