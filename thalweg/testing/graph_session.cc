// SPDX-License-Identifier: Apache-2.0
#include "thalweg/testing/graph_session.h"

#include "thalweg/devices/cpu/cpu_device.h"

namespace thalweg {

// The build writes these from the op families (cmake/ThalwegOpFamily.cmake).
void RegisterAllOps(OpRegistry& registry);
void RegisterAllCpuKernels(KernelRegistry& registry);

namespace {

std::shared_ptr<Environment> MakeTestEnvironment(int threads) {
  Registries registries;
  RegisterAllOps(*registries.ops);
  RegisterAllCpuKernels(*registries.kernels);
  registries.devices = {MakeCpuDevices};
  return *Environment::Create({.threads = threads}, std::move(registries));
}

}  // namespace

GraphSession::GraphSession(int threads)
    : environment(MakeTestEnvironment(threads)),
      graph(std::make_shared<Graph>(environment->shared_ops())),
      b(graph.get()),
      session(*MakeLocalSession(environment, graph)) {}

}  // namespace thalweg
