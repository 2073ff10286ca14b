// SPDX-License-Identifier: Apache-2.0
#include "thalweg/kernel/kernel_registry.h"

namespace thalweg {
namespace {

Status DoNothing(Context&) { return OkStatus(); }

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(no_op, cpu) {
  registry.AddFunction<DoNothing>("NoOp", kCpu).Cost(KernelCost::kCheap);
  registry.AddFunction<DoNothing>("ControlTrigger", kCpu).Cost(KernelCost::kCheap);
}
