// SPDX-License-Identifier: Apache-2.0
// AddHostKernels: kernels that every device has and that run on the host wherever they are placed:
// Send and Recv, the copies between the device and the host, what only waits. ComputeOnHost: a
// kernel of the CPU within one of a device.
//
//   RETURN_IF_ERROR(AddHostKernels(*request.kernels, "NPU"));
//
// Ownership: the registry's; ComputeOnHost keeps nothing.
// Threads: as KernelRegistry::AddUserKernel; may race with Find; ComputeOnHost as Compute.
// Errors: AlreadyExists for a device type that has them; those of the kernel.
#pragma once

#include <span>
#include <string_view>

#include "thalweg/kernel/kernel_registry.h"

namespace thalweg {

// The entries of the CPU that are there, for this type of device, too.
Status AddHostKernels(KernelRegistry& registry, std::string_view device_type);

// Calls a kernel of the CPU in the place of the one that `ctx` was made for, as on `host`: with
// `values` as inputs, and behind them as many empty ones, which become its outputs. What it
// allocates is in host memory.
Status ComputeOnHost(Kernel& kernel, const Context& ctx, Device& host, std::span<Tensor> values);

}  // namespace thalweg
