// SPDX-License-Identifier: Apache-2.0
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

template <class T>
Status BroadcastArgs(Context& ctx) {
  ASSIGN_OR_RETURN(Dims longer, IntVector(ctx.input(0), "s0"));
  ASSIGN_OR_RETURN(Dims shorter, IntVector(ctx.input(1), "s1"));
  if (longer.size() < shorter.size()) std::swap(longer, shorter);
  const int shift = longer.size() - shorter.size();
  for (int i = 0; i < shorter.size(); ++i) {
    int64_t& dim = longer[shift + i];
    if (dim != shorter[i] && dim != 1 && shorter[i] != 1) {
      return InvalidArgument("Incompatible shapes for broadcasting: sizes ", dim, " and ",
                             shorter[i]);
    }
    if (dim == 1) dim = shorter[i];
  }
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, kDTypeOf<T>, Shape{int64_t{longer.size()}}));
  for (int i = 0; i < longer.size(); ++i) {
    out->template mutable_data<T>()[i] = static_cast<T>(longer[i]);
  }
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(broadcast_shapes, cpu) {
  registry.AddFunction<BroadcastArgs<int32_t>>("BroadcastArgs", kCpu, {{"T", DType::kInt32}});
  registry.AddFunction<BroadcastArgs<int64_t>>("BroadcastArgs", kCpu, {{"T", DType::kInt64}});
}
