// SPDX-License-Identifier: Apache-2.0
// DeviceConformance: what every device must do, as a suite that a device's test instantiates:
//
//   INSTANTIATE_TEST_SUITE_P(Cpu, DeviceConformance,
//                            ::testing::Values(DeviceUnderTest{.factory = MakeCpuDevices}));
//
// A device that cannot do something names the test and the reason in `exclusions`; a test that is
// excluded and would pass fails, so that the list stays true.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "thalweg/kernel/device_factory.h"

namespace thalweg {

struct DeviceUnderTest {
  DeviceFactory factory = nullptr;
  std::map<std::string, std::string> exclusions;  // test -> why
};

class DeviceConformance : public ::testing::TestWithParam<DeviceUnderTest> {
 protected:
  // Runs `property`; what it returns is the test's result, turned round for an excluded test.
  void Check(Status (*property)(const std::vector<std::unique_ptr<Device>>& devices));
};

}  // namespace thalweg
