// SPDX-License-Identifier: Apache-2.0
#include "thalweg/kernel/kernel_registry.h"

namespace thalweg {
namespace {

Status Merge(Context& ctx) {
  for (int i = 0; i < ctx.num_inputs(); ++i) {
    if (ctx.input(i).empty()) continue;
    ctx.set_output(0, ctx.input(i));
    ctx.set_output(1, Tensor::Scalar<int32_t>(i));
    return OkStatus();
  }
  ctx.set_output(0, Tensor());
  ctx.set_output(1, Tensor());
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(merge, cpu) {
  registry.AddFunction<Merge>("Merge", kCpu).Cost(KernelCost::kCheap);
  registry.AddFunction<Merge>("RefMerge", kCpu).Cost(KernelCost::kCheap);
}
