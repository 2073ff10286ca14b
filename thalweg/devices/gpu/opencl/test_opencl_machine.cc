// SPDX-License-Identifier: Apache-2.0
#include "thalweg/devices/gpu/gpu_factory.h"
#include "thalweg/devices/gpu/opencl/opencl_driver.h"
#include "thalweg/devices/gpu/test_kernel_machine.h"

namespace thalweg {

const bool kComputesUnderTest = true;

Result<std::vector<std::unique_ptr<Device>>> MakeDevicesUnderTest(const DeviceRequest& request) {
  return MakeOpenClDevices(request);
}

Result<std::shared_ptr<GpuDriver>> DriverUnderTest(bool is_processor, int64_t units) {
  ASSIGN_OR_RETURN(const OpenClApi* cl, OpenClApi::Load());
  ASSIGN_OR_RETURN(std::vector<OpenClChoice> choices, FindOpenClDevices(*cl));
  choices.front().is_processor = is_processor;
  choices.front().units = units;
  ASSIGN_OR_RETURN(std::shared_ptr<OpenClDriver> driver, OpenClDriver::Make(*cl, choices.front()));
  return std::shared_ptr<GpuDriver>(std::move(driver));
}

}  // namespace thalweg
