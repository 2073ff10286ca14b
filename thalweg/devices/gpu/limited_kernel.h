// SPDX-License-Identifier: Apache-2.0
// LimitedKernel: a kernel of the device that cannot do all that its operation allows (a product of
// nine dimensions). What it says is Unimplemented, the CPU's kernel does, on copies of the inputs,
// and its results are copied back.
//
//   adder.AddLimited<MatMulGpu::Create>("MatMul", {{"T", DType::kFloat}});
//
// Ownership: has both kernels.
// Threads: as Kernel; what goes to the CPU holds its thread until the copies are there, or the step
// is cancelled.
// Errors: those of either kernel and of the copies. Where the CPU has no kernel for the node, the
// device's own word stands.
#pragma once

#include "thalweg/kernel/kernel_registry.h"

namespace thalweg {

// `own`: what the device's factory gave.
Result<std::unique_ptr<Kernel>> WithHostBehind(const KernelConstruction& c,
                                               Result<std::unique_ptr<Kernel>> own);

template <KernelFactory F>
Result<std::unique_ptr<Kernel>> MakeLimited(const KernelConstruction& c) {
  return WithHostBehind(c, F(c));
}

}  // namespace thalweg
