// SPDX-License-Identifier: Apache-2.0
// The kernels of PyFunc and PyFuncStateless: they call the one function that the host program has
// set by tw_set_host_function. They run on whatever thread the step gives them and hold it while
// the function runs; a cancelled step calls no more and waits for those that run.
// Ownership: the function is the host's, which outlives every step; its arguments are lent, its
// results taken.
// Threads: kernels from any; the function is called by several at once.
// Errors: the function's own; FailedPrecondition where none is set, InvalidArgument or Internal for
// results of other numbers or types.
#pragma once

#include "thalweg/kernel/kernel_registry.h"

namespace thalweg::api {

void AddHostFunctionKernels(KernelRegistry& registry);

}  // namespace thalweg::api
