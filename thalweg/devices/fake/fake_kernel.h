// SPDX-License-Identifier: Apache-2.0
// AddFakeKernels: kernels for the fake device, made of the CPU's: each reads its inputs where the
// device reaches them, and what it makes is stored in the device's memory.
//
//   RETURN_IF_ERROR(AddFakeKernels(ops, kernels));
//
// Those of numbers that end when they are called, variables of resource type, and collective
// operations. What is not among them (references, strings, queues, functions, whatever else waits)
// stays on the CPU.
// Ownership: the registry's.
// Threads: as KernelRegistry::AddUserKernel; may race with Find.
// Errors: those of AddUserKernel; a registry that has them already is as it was.
#pragma once

#include "thalweg/graph/op_registry.h"
#include "thalweg/kernel/kernel_registry.h"

namespace thalweg {

Status AddFakeKernels(const OpRegistry& ops, KernelRegistry& kernels);

}  // namespace thalweg
