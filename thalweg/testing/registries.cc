// SPDX-License-Identifier: Apache-2.0
#include "thalweg/testing/registries.h"

namespace thalweg {

const TestRegistries& AllRegistries() {
  static const TestRegistries registries = [] {
    auto ops = std::make_shared<OpRegistry>();
    RegisterAllOps(*ops);
    auto kernels = std::make_shared<KernelRegistry>();
    RegisterAllCpuKernels(*kernels);
    return TestRegistries{std::move(ops), std::move(kernels)};
  }();
  return registries;
}

}  // namespace thalweg
