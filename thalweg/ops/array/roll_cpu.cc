// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/move/roll.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/tensor/axis.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

Status CheckVectors(const Tensor& shift, const Tensor& axis) {
  for (const Tensor* given : {&shift, &axis}) {
    if (given->rank() <= 1) continue;
    return InvalidArgument(given == &shift ? "shift" : "axis",
                           " must be a scalar or a 1-D vector. Found: ", given->shape());
  }
  if (shift.shape() == axis.shape()) return OkStatus();
  return InvalidArgument("shift and axis must have the same size, got shapes ", shift.shape(),
                         " and ", axis.shape());
}

Status Roll(Context& ctx) {
  const Tensor& x = ctx.input(0);
  const Tensor& shift = ctx.input(1);
  const Tensor& axis = ctx.input(2);
  const Shape shape = x.shape();
  if (shape.rank() == 0) return InvalidArgument("input must be 1-D or higher, got a scalar");
  RETURN_IF_ERROR(CheckVectors(shift, axis));
  Dims shifts;
  shifts.resize(shape.rank(), 0);
  for (int64_t i = 0; i < shift.num_elements(); ++i) {
    const std::optional<int> found = AxisFromFront(IntAt(axis, i), shape.rank());
    if (!found.has_value()) {
      return InvalidArgument("axis ", IntAt(axis, i), " is out of range of ", shape);
    }
    const int d = *found;
    const int64_t size = shape.dim(d);
    if (size == 0) continue;
    const int64_t step = IntAt(shift, i) % size;
    shifts[d] = (shifts[d] + (step < 0 ? step + size : step)) % size;
  }
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, x.dtype(), shape));
  return compute::RollElements(ctx.work(), x.dtype(), shape.dims(), shifts, x.raw_data(),
                               out->mutable_raw_data());
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(roll, cpu) { registry.AddFunction<Roll>("Roll", kCpu); }
