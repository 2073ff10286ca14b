// SPDX-License-Identifier: Apache-2.0
// MakeOpenClDevices: the devices of type GPU of this machine, through OpenCL, whose loader is
// opened when an environment that asks for one is made.
//
//   options.device_count = {{"GPU", 1}};     // of cards, accelerators and processors
//   registries.devices = {MakeCpuDevices, MakeOpenClDevices};
//
// Ownership: as DeviceFactory: the devices are the caller's.
// Threads: any.
// Errors: NotFound without a loader or driver, FailedPrecondition for a device that cannot be used
// or for too few, with the device's name and what to do.
#pragma once

#include "thalweg/kernel/device_factory.h"

namespace thalweg {

// As many as `device_count` says of GPU, graphics cards first; none where it does not name it: no
// card has been tried.
Result<std::vector<std::unique_ptr<Device>>> MakeOpenClDevices(const DeviceRequest& request);

}  // namespace thalweg
