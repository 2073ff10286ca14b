// SPDX-License-Identifier: Apache-2.0
// The kernels of PyFunc and PyFuncStateless: they call the one function that the host program has
// set by tw_set_host_function. They run on whatever thread the step gives them and hold it while
// the function runs; a cancelled step calls no more and waits for those that run.
#pragma once

#include "thalweg/kernel/kernel_registry.h"

namespace thalweg::api {

void AddHostFunctionKernels(KernelRegistry& registry);

}  // namespace thalweg::api
