// SPDX-License-Identifier: Apache-2.0
// Ranges of quantized tensors in kernels: two inputs, the ends. Private to this family.
// Ownership: values; outputs are the context's.
// Threads: those of the kernel's call.
// Errors: InvalidArgument for ends that are no scalars, or in the wrong order.
#pragma once

#include "thalweg/compute/quantized/levels.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/tensor/legacy_scalar.h"

namespace thalweg {

// The ends in inputs `low` and `low` + 1, both scalars.
inline Result<compute::RealRange> ScalarRange(const Context& ctx, int low, std::string_view what) {
  for (int i = low; i < low + 2; ++i) {
    if (ctx.input(i).rank() == 0) continue;
    return InvalidArgument("`", i == low ? "min" : "max", "_", what,
                           "` must be rank 0 but is rank ", ctx.input(i).rank());
  }
  return compute::RealRange{ctx.input(low).scalar<float>(), ctx.input(low + 1).scalar<float>()};
}

// As ScalarRange; a vector of one element does as well.
inline Result<compute::RealRange> LegacyRange(const Context& ctx, int low, std::string_view what) {
  for (int i = low; i < low + 2; ++i) {
    if (!IsLegacyScalar(ctx.input(i))) return ScalarRange(ctx, low, what);
  }
  return compute::RealRange{ctx.input(low).scalar<float>(), ctx.input(low + 1).scalar<float>()};
}

// As ScalarRange; the high end must be above the low one.
inline Result<compute::RealRange> RisingRange(const Context& ctx, int low, std::string_view what) {
  ASSIGN_OR_RETURN(const compute::RealRange range, ScalarRange(ctx, low, what));
  if (range.high > range.low) return range;
  return InvalidArgument("max_", what, " must be larger than min_", what, ", got ", range.high,
                         " and ", range.low);
}

// Outputs `first` and `first` + 1.
inline void SetRange(Context& ctx, int first, compute::RealRange range) {
  ctx.set_output(first, Tensor::Scalar(range.low));
  ctx.set_output(first + 1, Tensor::Scalar(range.high));
}

// The range that a product of levels with these steps has as qint32.
inline compute::RealRange ProductRange(float step_a, float step_b) {
  const float high = static_cast<float>(static_cast<double>(step_a * step_b) * 2147483648.0);
  return {-high, high};
}
inline float StepOf(DType dtype, compute::RealRange range) {
  return (range.high - range.low) / static_cast<float>(compute::LevelsOf(dtype).steps());
}

}  // namespace thalweg
