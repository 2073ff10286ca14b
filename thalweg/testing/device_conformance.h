// SPDX-License-Identifier: Apache-2.0
// DeviceConformance: what every device must do, as checks that a device's test runs:
//
//   class CpuConformance : public ::testing::TestWithParam<DeviceCheck> {};
//   TEST_P(CpuConformance, Holds) { CheckDevice({.factory = MakeCpuDevices}, GetParam()); }
//   INSTANTIATE_TEST_SUITE_P(All, CpuConformance, ::testing::ValuesIn(DeviceChecks()),
//                            DeviceCheckName);
//
// A device that cannot do something names the check and the reason in `exclusions`; a check that is
// excluded and would pass fails, so that the list stays true.
// Ownership: devices are made by the factory for each check and go at its end.
// Threads: the test's.
// Errors: fail the test, with the check's name and what was found.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "thalweg/kernel/device_factory.h"

namespace thalweg {

struct DeviceUnderTest {
  DeviceFactory factory = nullptr;
  std::map<std::string, std::string> exclusions = {};  // check -> why
};

struct DeviceCheck {
  std::string name;
  Status (*holds)(const std::vector<std::unique_ptr<Device>>& devices);
};

std::vector<DeviceCheck> DeviceChecks();
void CheckDevice(const DeviceUnderTest& device, const DeviceCheck& check);
inline std::string DeviceCheckName(const ::testing::TestParamInfo<DeviceCheck>& info) {
  return info.param.name;
}

}  // namespace thalweg
