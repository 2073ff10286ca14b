// SPDX-License-Identifier: Apache-2.0
#include "thalweg/devices/skeleton/skeleton_device.h"

#include "thalweg/testing/device_conformance.h"

namespace thalweg {
namespace {

INSTANTIATE_TEST_SUITE_P(Skeleton, DeviceConformance,
                         ::testing::Values(DeviceUnderTest{
                             .factory = MakeSkeletonDevices,
                             .exclusions = {{"AllocationsAreAlignedAndCounted", "it has no memory"},
                                            {"ARequestBeyondTheCapIsRefused", "it has no memory"},
                                            {"CopiesKeepEveryByte", "copies are unimplemented"},
                                            {"CopiesMayRace", "copies are unimplemented"}}}));

}  // namespace
}  // namespace thalweg
