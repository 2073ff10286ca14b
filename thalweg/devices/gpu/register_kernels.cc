// SPDX-License-Identifier: Apache-2.0
#include "thalweg/devices/gpu/register_kernels.h"

#include <algorithm>

#include "thalweg/devices/gpu/gpu_kernel.h"
#include "thalweg/kernel/host_kernels.h"

namespace thalweg {

Status AddGpuKernels(const OpRegistry& ops, KernelRegistry& registry) {
  const std::vector<const KernelEntry*> entries = registry.Entries();
  if (std::ranges::any_of(entries, [](const auto* e) { return e->device_type == kGpu; })) {
    return OkStatus();
  }
  RETURN_IF_ERROR(AddHostKernels(registry, kGpu));
  KernelAdder adder(registry);
  AddHostSideKernels(ops, adder);
  AddElementWiseKernels(adder);
  AddMatMulKernels(adder);
  AddMoveKernels(adder);
  AddConvKernels(adder);
  AddBatchNormKernels(adder);
  AddPoolKernels(adder);
  AddReduceKernels(adder);
  AddRowKernels(adder);
  AddSoftmaxKernels(adder);
  AddVariableKernels(adder);
  AddOptimizerKernels(adder);
  return adder.status();
}

}  // namespace thalweg
