// SPDX-License-Identifier: Apache-2.0
// Registries with every operation and every CPU kernel of the library, for tests.
// Ownership: AllRegistries is shared by the tests of a process and never goes.
// Threads: any; registration before a registry is shared.
// Errors: none; an operation that is registered twice is found by a test of its own.
#pragma once

#include <memory>

#include "thalweg/graph/op_registry.h"
#include "thalweg/kernel/kernel_registry.h"

namespace thalweg {

// The build writes these from the op families (cmake/ThalwegOpFamily.cmake).
void RegisterAllOps(OpRegistry& registry);
void RegisterAllCpuKernels(KernelRegistry& registry);

struct TestRegistries {
  std::shared_ptr<const OpRegistry> ops;
  std::shared_ptr<const KernelRegistry> kernels;
};

// Made at the first call, shared by the tests of a process.
const TestRegistries& AllRegistries();

}  // namespace thalweg
