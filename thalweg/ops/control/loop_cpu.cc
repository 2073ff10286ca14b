// SPDX-License-Identifier: Apache-2.0
#include "thalweg/kernel/kernel_registry.h"

namespace thalweg {
namespace {

// What changes is the tag of the value, which is the executor's affair.
Status PassOn(Context& ctx) {
  ctx.set_output(0, ctx.input(0));
  return OkStatus();
}

Status LoopCond(Context& ctx) {
  const Tensor& condition = ctx.input(0);
  if (condition.rank() != 0) {
    return InvalidArgument("the condition of a loop must be a scalar, got ", condition.dtype(),
                           condition.shape());
  }
  return PassOn(ctx);
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(loop, cpu) {
  for (const char* op :
       {"Enter", "Exit", "NextIteration", "RefEnter", "RefExit", "RefNextIteration"}) {
    registry.AddFunction<PassOn>(op, kCpu).Cost(KernelCost::kCheap);
  }
  registry.AddFunction<LoopCond>("LoopCond", kCpu).Cost(KernelCost::kCheap);
}
