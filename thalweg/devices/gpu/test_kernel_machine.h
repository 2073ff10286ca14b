// SPDX-License-Identifier: Apache-2.0
// The device whose kernels gpu_kernels_test.cc tests: each binary of it says its own.
#pragma once

#include "thalweg/devices/gpu/gpu_driver.h"
#include "thalweg/kernel/device_factory.h"

namespace thalweg {

Result<std::vector<std::unique_ptr<Device>>> MakeDevicesUnderTest(const DeviceRequest& request);
// Its driver anew, taken for a processor's or a card's of so many units.
Result<std::shared_ptr<GpuDriver>> DriverUnderTest(bool is_processor, int64_t units);
// Whether launches do anything: else results have types and shapes alone.
extern const bool kComputesUnderTest;

}  // namespace thalweg
