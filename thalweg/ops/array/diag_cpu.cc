// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/move/strided_copy.h"
#include "thalweg/kernel/kernel_registry.h"

namespace thalweg {
namespace {

Status Diag(Context& ctx) {
  const Tensor& x = ctx.input(0);
  const Shape half = x.shape();
  if (half.rank() == 0) return InvalidArgument("Input must be at least rank 1, got 0");
  Dims dims = half.dims();
  for (int64_t size : half.dims()) dims.push_back(size);
  ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, x.dtype(), shape));
  const int64_t n = x.num_elements();
  RETURN_IF_ERROR(compute::FillZeros(ctx.work(), x.dtype(), out->mutable_raw_data(), n * n));
  return compute::CopyStrided(ctx.work(), x.dtype(), Dims{n}, {x.raw_data(), Dims{1}},
                              {out->mutable_raw_data(), Dims{n + 1}});
}

Status DiagPart(Context& ctx) {
  const Tensor& x = ctx.input(0);
  const Shape shape = x.shape();
  if (shape.rank() % 2 != 0 || shape.rank() == 0) {
    return InvalidArgument("The rank of the tensor should be even and positive, got shape ", shape);
  }
  Dims dims;
  for (int i = 0; i < shape.rank() / 2; ++i) {
    const int other = i + shape.rank() / 2;
    if (shape.dim(i) != shape.dim(other)) {
      return InvalidArgument("Invalid shape ", shape, ": dimensions ", i, " and ", other,
                             " do not match.");
    }
    dims.push_back(shape.dim(i));
  }
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, x.dtype(), Shape(dims)));
  const int64_t n = out->num_elements();
  return compute::CopyStrided(ctx.work(), x.dtype(), Dims{n}, {x.raw_data(), Dims{n + 1}},
                              {out->mutable_raw_data(), Dims{1}});
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(diag, cpu) {
  registry.AddFunction<Diag>("Diag", kCpu);
  registry.AddFunction<DiagPart>("DiagPart", kCpu);
}
