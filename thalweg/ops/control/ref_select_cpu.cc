// SPDX-License-Identifier: Apache-2.0
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

Status RefSelect(Context& ctx) {
  ASSIGN_OR_RETURN(const int64_t index, IntScalar(ctx.input(0), "index"));
  const int choices = ctx.num_inputs() - 1;
  if (index < 0 || index >= choices) {
    return InvalidArgument("index = ", index, " is not in [0, ", choices, ")");
  }
  ctx.set_output(0, ctx.input(static_cast<int>(index) + 1));
  return OkStatus();
}

Status RefIdentity(Context& ctx) {
  ctx.set_output(0, ctx.input(0));
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(ref_select, cpu) {
  registry.AddFunction<RefSelect>("RefSelect", kCpu).Cost(KernelCost::kCheap);
  registry.AddFunction<RefIdentity>("RefIdentity", kCpu).Cost(KernelCost::kCheap);
}
