// SPDX-License-Identifier: Apache-2.0
// MakeGpuDevices: the devices of type GPU of this machine, NVIDIA's cards through CUDA and all else
// through OpenCL. Their libraries are opened when an environment that asks for one is made.
//
//   options.device_count = {{"GPU", 1}};     // of cards, accelerators and processors
//   registries.devices = {MakeCpuDevices, MakeGpuDevices};
//
// Ownership: as DeviceFactory: the devices are the caller's.
// Threads: any.
// Errors: NotFound without a driver, FailedPrecondition for a device that cannot be used or for too
// few, with the device's name and what to do.
#pragma once

#include "thalweg/kernel/device_factory.h"

namespace thalweg {

// As many as `device_count` says of GPU: first CUDA's, then OpenCL's, graphics cards first; a card
// that both see is CUDA's. None where it does not name GPU: no card has been tried.
Result<std::vector<std::unique_ptr<Device>>> MakeGpuDevices(const DeviceRequest& request);

// Those of one of them alone.
Result<std::vector<std::unique_ptr<Device>>> MakeCudaDevices(const DeviceRequest& request);
Result<std::vector<std::unique_ptr<Device>>> MakeOpenClDevices(const DeviceRequest& request);

}  // namespace thalweg
