// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/move/strided_copy.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/kernel/made_texts.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

Status BroadcastTo(Context& ctx) {
  const Tensor& x = ctx.input(0);
  const Shape from = x.shape();
  ASSIGN_OR_RETURN(const Shape to, ShapeOf(ctx.input(1), "shape"));
  if (from == to) {
    ctx.set_output(0, x);
    return OkStatus();
  }
  const int added = to.rank() - from.rank();
  if (added < 0) {
    return InvalidArgument("Rank of input (", from.rank(),
                           ") must be no greater than rank of output shape (", to.rank(), ")");
  }
  const Dims own = compute::ContiguousStrides(from.dims());
  Dims strides;
  for (int i = 0; i < to.rank(); ++i) {
    const int64_t have = i < added ? 1 : from.dim(i - added);
    if (have != 1 && have != to.dim(i)) {
      return InvalidArgument("Incompatible shapes: ", from, " vs. ", to);
    }
    strides.push_back(have == 1 ? 0 : own[i - added]);
  }
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, x.dtype(), to));
  if (out->num_elements() == 0) return OkStatus();
  RETURN_IF_ERROR(ClaimCopies(ctx, *out, x, out->num_elements() / x.num_elements()));
  return compute::CopyStrided(ctx.work(), x.dtype(), to.dims(), {x.raw_data(), strides},
                              {out->mutable_raw_data(), compute::ContiguousStrides(to.dims())});
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(broadcast_to, cpu) { registry.AddFunction<BroadcastTo>("BroadcastTo", kCpu); }
