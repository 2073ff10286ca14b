// SPDX-License-Identifier: Apache-2.0
// AddGpuKernels: the kernels of devices of type GPU: those written in OpenCL, and those of the
// host that touch no element of the device's memory.
//
//   RETURN_IF_ERROR(AddGpuKernels(ops, kernels));
//
// Ownership: the registry's.
// Threads: as KernelRegistry::AddUserKernel; may race with Find.
// Errors: those of AddUserKernel; a registry that has them already is as it was.
#pragma once

#include "thalweg/graph/op_registry.h"
#include "thalweg/kernel/kernel_registry.h"

namespace thalweg {

class KernelAdder;

Status AddGpuKernels(const OpRegistry& ops, KernelRegistry& registry);

// By file.
void AddElementWiseKernels(KernelAdder& adder);
void AddHostSideKernels(const OpRegistry& ops, KernelAdder& adder);
void AddMatMulKernels(KernelAdder& adder);
void AddMoveKernels(KernelAdder& adder);
void AddConvKernels(KernelAdder& adder);
void AddBatchNormKernels(KernelAdder& adder);
void AddPoolKernels(KernelAdder& adder);
void AddReduceKernels(KernelAdder& adder);
void AddRowKernels(KernelAdder& adder);
void AddSoftmaxKernels(KernelAdder& adder);
void AddVariableKernels(KernelAdder& adder);
void AddOptimizerKernels(KernelAdder& adder);

}  // namespace thalweg
