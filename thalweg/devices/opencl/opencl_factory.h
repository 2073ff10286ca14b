// SPDX-License-Identifier: Apache-2.0
// MakeOpenClDevices: the devices of type GPU of this machine, through OpenCL, whose loader is
// opened when an environment is made.
//
//   options.device_count = {{"GPU", 1}};     // processors too; graphics cards also unasked
//   registries.devices = {MakeCpuDevices, MakeOpenClDevices};
//
// Ownership: as DeviceFactory: the devices are the caller's.
// Threads: any.
// Errors: without being asked for, what is not there or does not work is no device; with, it is the
// error: NotFound without a loader or driver, FailedPrecondition for a device that cannot be used
// or for too few, with the device's name and what to do.
#pragma once

#include "thalweg/kernel/device_factory.h"

namespace thalweg {

// Graphics cards and accelerators; where `device_count` names GPU as many devices as it says,
// processors among them.
Result<std::vector<std::unique_ptr<Device>>> MakeOpenClDevices(const DeviceRequest& request);

}  // namespace thalweg
