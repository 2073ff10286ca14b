// SPDX-License-Identifier: Apache-2.0
#include "thalweg/kernel/kernel_registry.h"

namespace thalweg {
namespace {

Status Switch(Context& ctx) {
  const Tensor& pred = ctx.input(1);
  if (pred.rank() != 0) {
    return InvalidArgument("pred must be a scalar, got ", pred.dtype(), pred.shape());
  }
  const int taken = pred.scalar<bool>() ? 1 : 0;
  ctx.set_output(1 - taken, Tensor());
  ctx.set_output(taken, ctx.input(0));
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(switch, cpu) {
  registry.AddFunction<Switch>("Switch", kCpu).Cost(KernelCost::kCheap);
  registry.AddFunction<Switch>("RefSwitch", kCpu).Cost(KernelCost::kCheap);
}
