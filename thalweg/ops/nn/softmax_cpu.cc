// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/softmax/softmax.h"
#include "thalweg/kernel/element_wise.h"

namespace thalweg {
namespace {

using RowsFn = Status (*)(compute::Work&, DType, int64_t, int64_t, const void*, void*);

template <RowsFn F>
Status Rows(Context& ctx) {
  const Tensor& x = ctx.input(0);
  const Shape shape = x.shape();
  if (shape.rank() < 1) return InvalidArgument("logits must have >= 1 dimension, got ", shape);
  const int64_t classes = shape.dim(shape.rank() - 1);
  const int64_t rows = classes == 0 ? 0 : x.num_elements() / classes;
  const DType dtype = x.dtype();
  const void* data = x.raw_data();
  ASSIGN_OR_RETURN(Tensor * y, ctx.TakeOrAllocateOutput({0}, 0, dtype, shape));
  return F(ctx.work(), dtype, rows, classes, data, y->mutable_raw_data());
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(softmax, cpu) {
  for (DType dtype : kFloats) {
    registry.AddFunction<Rows<compute::Softmax>>("Softmax", kCpu, {{"T", dtype}});
    registry.AddFunction<Rows<compute::LogSoftmax>>("LogSoftmax", kCpu, {{"T", dtype}});
  }
}
