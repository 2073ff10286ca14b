// SPDX-License-Identifier: Apache-2.0
#include "thalweg/api/registries.h"

#include "thalweg/api/host_function.h"
#include "thalweg/cluster/transport/inproc_listeners.h"
#include "thalweg/devices/cpu/cpu_device.h"
#include "thalweg/devices/fake/fake_device.h"
#include "thalweg/devices/gpu/gpu_factory.h"

namespace thalweg {

// register_all.cc, generated from the op families.
void RegisterAllOps(OpRegistry& registry);
void RegisterAllCpuKernels(KernelRegistry& registry);

Registries MakeRegistries() {
  Registries registries;
  RegisterAllOps(*registries.ops);
  RegisterAllCpuKernels(*registries.kernels);
  api::AddHostFunctionKernels(*registries.kernels);
  registries.devices = {MakeCpuDevices, MakeFakeDevices, MakeGpuDevices};
  static const auto inproc = std::make_shared<InprocListeners>();  // of the process
  registries.inproc = inproc;
  return registries;
}

}  // namespace thalweg
