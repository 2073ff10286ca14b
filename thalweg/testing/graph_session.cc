// SPDX-License-Identifier: Apache-2.0
#include "thalweg/testing/graph_session.h"

#include "thalweg/devices/cpu/cpu_device.h"
#include "thalweg/testing/registries.h"

namespace thalweg {

std::shared_ptr<Environment> MakeTestEnvironment(const EnvironmentOptions& options) {
  Registries registries;
  RegisterAllOps(*registries.ops);
  RegisterAllCpuKernels(*registries.kernels);
  registries.devices = {MakeCpuDevices};
  return *Environment::Create(options, std::move(registries));
}

GraphSession::GraphSession(int threads)
    : environment(MakeTestEnvironment({.threads = threads})),
      graph(std::make_shared<Graph>(environment->shared_ops())),
      b(graph.get()),
      session(*MakeLocalSession(environment, graph)) {}

}  // namespace thalweg
