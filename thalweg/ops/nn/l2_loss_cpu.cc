// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/reduce/reduce.h"
#include "thalweg/kernel/element_wise.h"

namespace thalweg {
namespace {

// Summed before it is halved, in the type itself.
Status L2Loss(Context& ctx) {
  const Tensor& x = ctx.input(0);
  const DType dtype = x.dtype();
  ASSIGN_OR_RETURN(const auto reduction, compute::Reduction::Make(Dims{x.num_elements()}, Dims{0}));
  ASSIGN_OR_RETURN(Tensor * loss, ctx.AllocateOutput(0, dtype, Shape()));
  void* data = loss->mutable_raw_data();
  RETURN_IF_ERROR(compute::Reduce(ctx.work(), compute::ReduceOp::kSumSquares, dtype, reduction,
                                  x.raw_data(), data));
  switch (dtype) {
    case DType::kDouble:
      *static_cast<double*>(data) *= 0.5;
      break;
    case DType::kFloat:
      *static_cast<float*>(data) *= 0.5f;
      break;
    case DType::kHalf:
      *static_cast<Half*>(data) = Half(static_cast<float>(*static_cast<Half*>(data)) * 0.5f);
      break;
    default:
      *static_cast<Bfloat16*>(data) =
          Bfloat16(static_cast<float>(*static_cast<Bfloat16*>(data)) * 0.5f);
  }
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(l2_loss, cpu) {
  for (DType dtype : kFloats) registry.AddFunction<L2Loss>("L2Loss", kCpu, {{"T", dtype}});
}
