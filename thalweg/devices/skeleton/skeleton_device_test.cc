// SPDX-License-Identifier: Apache-2.0
#include "thalweg/devices/skeleton/skeleton_device.h"

#include "thalweg/testing/device_conformance.h"

namespace thalweg {
namespace {

class SkeletonConformance : public ::testing::TestWithParam<DeviceCheck> {};
TEST_P(SkeletonConformance, Holds) {
  CheckDevice({.factory = MakeSkeletonDevices,
               .exclusions = {{"AllocationsAreAlignedAndCounted", "it has no memory"},
                              {"ARequestBeyondTheCapIsRefused", "it has no memory"},
                              {"CopiesKeepEveryByte", "copies are unimplemented"},
                              {"TensorsAreTheDevices", "it has no memory"},
                              {"CopiesComeInOrder", "copies are unimplemented"},
                              {"ACopyBeyondTheCapIsRefused", "copies are unimplemented"},
                              {"ObjectsAreRefused", "copies are unimplemented"},
                              {"CopiesMayRace", "copies are unimplemented"}}},
              GetParam());
}
INSTANTIATE_TEST_SUITE_P(All, SkeletonConformance, ::testing::ValuesIn(DeviceChecks()),
                         DeviceCheckName);

}  // namespace
}  // namespace thalweg
