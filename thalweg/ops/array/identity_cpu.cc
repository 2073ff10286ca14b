// SPDX-License-Identifier: Apache-2.0
#include "thalweg/kernel/kernel_registry.h"

namespace thalweg {
namespace {

Status Identity(Context& ctx) {
  for (int i = 0; i < ctx.num_inputs(); ++i) ctx.set_output(i, ctx.input(i));
  return OkStatus();
}

// What a handle leads to is no constant.
Status GuaranteeConst(Context& ctx) {
  if (ctx.input(0).dtype() == DType::kResource) {
    return InvalidArgument("Input tensor cannot be a resource variable handle.");
  }
  return Identity(ctx);
}

Status DeepCopy(Context& ctx) {
  ASSIGN_OR_RETURN(Tensor copy, ctx.input(0).Clone(ctx.allocator()));
  ctx.set_output(0, std::move(copy));
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(identity, cpu) {
  for (const char* op : {"Copy", "CopyHost", "Identity", "IdentityN", "PreventGradient", "Snapshot",
                         "StopGradient"}) {
    registry.AddFunction<Identity>(op, kCpu).Cost(KernelCost::kCheap);
  }
  registry.AddFunction<GuaranteeConst>("GuaranteeConst", kCpu).Cost(KernelCost::kCheap);
  registry.AddFunction<DeepCopy>("DeepCopy", kCpu);
}
