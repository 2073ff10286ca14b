// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/ew/cross.h"
#include "thalweg/kernel/element_wise.h"

namespace thalweg {
namespace {

Status CrossCpu(Context& ctx) {
  const Tensor &a = ctx.input(0), &b = ctx.input(1);
  if (a.shape() != b.shape()) {
    return InvalidArgument("both inputs must have one shape, got ", a.shape(), " and ", b.shape());
  }
  if (a.rank() < 1) return InvalidArgument("a and b must be at least vectors, got scalars");
  if (a.dim(a.rank() - 1) != 3) {
    return FailedPrecondition("Cross-products are only defined for 3-element vectors; got shape ",
                              a.shape());
  }
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, a.dtype(), a.shape()));
  return compute::Cross(ctx.work(), a.dtype(), a.num_elements() / 3, a.raw_data(), b.raw_data(),
                        out->mutable_raw_data());
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(cross, cpu) {
  for (DType dtype : kReals) registry.AddFunction<CrossCpu>("Cross", kCpu, {{"T", dtype}});
}
