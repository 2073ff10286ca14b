// SPDX-License-Identifier: Apache-2.0
#include "thalweg/kernel/element_wise.h"

namespace thalweg {

Status RunUnaryKernel(Context& ctx, compute::UnaryOp op) {
  const Tensor& x = ctx.input(0);
  const DType dtype = x.dtype();
  const int64_t n = x.num_elements();
  const void* data = x.raw_data();  // stays where it is when the output takes the buffer
  ASSIGN_OR_RETURN(Tensor * y,
                   ctx.TakeOrAllocateOutput({0}, 0, compute::UnaryResult(op, dtype), x.shape()));
  return compute::RunUnary(ctx.work(), op, dtype, n, data, y->mutable_raw_data());
}

namespace {

Status Run(Context& ctx, compute::BinaryOp op, const compute::Broadcast& broadcast,
           const Shape& shape) {
  const DType dtype = ctx.input(0).dtype();
  const void* a = ctx.input(0).raw_data();
  const void* b = ctx.input(1).raw_data();
  ASSIGN_OR_RETURN(Tensor * out,
                   ctx.TakeOrAllocateOutput({0, 1}, 0, compute::BinaryResult(op, dtype), shape));
  return compute::RunBinary(ctx.work(), op, dtype, broadcast, a, b, out->mutable_raw_data());
}

}  // namespace

Status RunBinaryKernel(Context& ctx, compute::BinaryOp op) {
  const Shape a = ctx.input(0).shape(), b = ctx.input(1).shape();
  if (a == b) return Run(ctx, op, compute::Broadcast::Dense(a.num_elements(), 2), a);
  ASSIGN_OR_RETURN(const compute::Broadcast broadcast,
                   compute::Broadcast::Make({a.dims(), b.dims()}));
  return Run(ctx, op, broadcast, Shape(broadcast.output_dims()));
}

Status RunSameShapeKernel(Context& ctx, compute::BinaryOp op) {
  const Shape a = ctx.input(0).shape();
  if (a != ctx.input(1).shape()) {
    return InvalidArgument("both inputs must have one shape, got ", a.ToString(), " and ",
                           ctx.input(1).shape());
  }
  return Run(ctx, op, compute::Broadcast::Dense(a.num_elements(), 2), a);
}

}  // namespace thalweg
