// SPDX-License-Identifier: Apache-2.0
#include "thalweg/devices/gpu/cuda/cuda_driver.h"
#include "thalweg/devices/gpu/gpu_factory.h"
#include "thalweg/devices/gpu/test_kernel_machine.h"

namespace thalweg {

#ifdef THALWEG_TEST_CARD
const bool kComputesUnderTest = true;
#else
// The driver is the tests', NVRTC is NVIDIA's: kernels are compiled for a card, and not run.
const bool kComputesUnderTest = false;
#endif

Result<std::vector<std::unique_ptr<Device>>> MakeDevicesUnderTest(const DeviceRequest& request) {
  return MakeCudaDevices(request);
}

Result<std::shared_ptr<GpuDriver>> DriverUnderTest(bool /*is_processor*/, int64_t units) {
  ASSIGN_OR_RETURN(const CudaApi* cuda, CudaApi::Load());
  ASSIGN_OR_RETURN(std::vector<CudaChoice> choices, FindCudaDevices(*cuda));
  choices.front().units = units;
  ASSIGN_OR_RETURN(std::shared_ptr<CudaDriver> driver, CudaDriver::Make(*cuda, choices.front()));
  return std::shared_ptr<GpuDriver>(std::move(driver));
}

}  // namespace thalweg
