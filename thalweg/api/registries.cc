// SPDX-License-Identifier: Apache-2.0
#include "thalweg/api/registries.h"

#include "thalweg/api/host_function.h"
#include "thalweg/devices/cpu/cpu_device.h"

namespace thalweg {

// register_all.cc, generated from the op families.
void RegisterAllOps(OpRegistry& registry);
void RegisterAllCpuKernels(KernelRegistry& registry);

Registries MakeRegistries() {
  Registries registries;
  RegisterAllOps(*registries.ops);
  RegisterAllCpuKernels(*registries.kernels);
  api::AddHostFunctionKernels(*registries.kernels);
  registries.devices = {MakeCpuDevices};
  return registries;
}

}  // namespace thalweg
