// SPDX-License-Identifier: Apache-2.0
#include "thalweg/kernel/element_wise.h"

namespace thalweg {

Status RunUnaryKernel(Context& ctx, compute::UnaryOp op) {
  const Tensor& x = ctx.input(0);
  const DType dtype = x.dtype();
  const int64_t n = x.num_elements();
  const void* data = x.raw_data();  // stays where it is when the output takes the buffer
  if (x.kind() == Tensor::Kind::kInline) {
    const compute::UnaryFn loop = compute::DirectUnary(ctx.work().isa(), op, dtype);
    if (loop != nullptr) {
      ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, compute::UnaryResult(op, dtype), Shape()));
      loop(y->mutable_raw_data(), data, 1);
      return OkStatus();
    }
  }
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

namespace {

bool SameShape(const Tensor& a, const Tensor& b) {
  if (a.rank() != b.rank()) return false;
  for (int d = 0; d < a.rank(); ++d) {
    if (a.dim(d) != b.dim(d)) return false;
  }
  return true;
}

// Small tensors of one shape: a node costs more than its loop, so nothing stands between them.
// Null: not such a case.
compute::BinaryFn DirectLoop(Context& ctx, compute::BinaryOp op) {
  const Tensor &a = ctx.input(0), &b = ctx.input(1);
  if (a.num_elements() > compute::kDirectElements || !SameShape(a, b)) return nullptr;
  return compute::DirectBinary(ctx.work().isa(), op, a.dtype());
}

Status RunDirect(Context& ctx, compute::BinaryOp op, compute::BinaryFn loop) {
  const Tensor& x = ctx.input(0);
  const void *a = x.raw_data(), *b = ctx.input(1).raw_data();
  const int64_t n = x.num_elements();
  const DType result = compute::BinaryResult(op, x.dtype());
  Tensor* out = nullptr;
  if (x.kind() == Tensor::Kind::kInline) {
    ASSIGN_OR_RETURN(out, ctx.AllocateOutput(0, result, Shape()));
  } else {
    ASSIGN_OR_RETURN(out, ctx.TakeOrAllocateOutput({0, 1}, 0, result, x.shape()));
  }
  uint32_t flags = 0;
  loop(out->mutable_raw_data(), a, b, n, &flags);
  return flags == 0 ? OkStatus() : compute::StatusOfFlags(flags);
}

}  // namespace

Status RunBinaryKernel(Context& ctx, compute::BinaryOp op) {
  if (const compute::BinaryFn loop = DirectLoop(ctx, op)) return RunDirect(ctx, op, loop);
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
