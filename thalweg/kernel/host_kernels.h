// SPDX-License-Identifier: Apache-2.0
// AddHostKernels: kernels that every device has and that run on the host wherever they are placed:
// Send and Recv, the copies between the device and the host, what only waits.
//
//   RETURN_IF_ERROR(AddHostKernels(*request.kernels, "NPU"));
//
// Ownership: the registry's.
// Threads: as KernelRegistry::AddUserKernel; may race with Find.
// Errors: AlreadyExists for a device type that has them.
#pragma once

#include <string_view>

#include "thalweg/kernel/kernel_registry.h"

namespace thalweg {

// The entries of the CPU that are there, for this type of device, too.
Status AddHostKernels(KernelRegistry& registry, std::string_view device_type);

}  // namespace thalweg
