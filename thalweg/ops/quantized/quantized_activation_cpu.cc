// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "thalweg/ops/quantized/range_inputs.h"

namespace thalweg {
namespace {

template <class T>
Status Clamp(compute::Work& work, const Tensor& x, int64_t low, int64_t high, Tensor* y) {
  const auto* in = static_cast<const T*>(x.raw_data());
  auto* out = static_cast<T*>(y->mutable_raw_data());
  const T from = static_cast<T>(low), to = static_cast<T>(high);
  return compute::ForBlocks(work, x.num_elements(), 65536, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) out[i] = std::min(std::max(in[i], from), to);
  });
}

template <bool kSix>
Status Relu(Context& ctx) {
  const Tensor& x = ctx.input(0);
  ASSIGN_OR_RETURN(const compute::RealRange range, ScalarRange(ctx, 1, "features"));
  const compute::LevelRange levels = compute::LevelsOf(x.dtype());
  const auto level = [&](double real) {
    return std::clamp(compute::LevelOfReal(x.dtype(), range, real), levels.lowest, levels.highest);
  };
  SetRange(ctx, 1, range);
  ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, x.dtype(), x.shape()));
  const int64_t low = level(0), high = kSix ? level(6) : levels.highest;
  if (x.dtype() == DType::kQint32) return Clamp<int32_t>(ctx.work(), x, low, high, y);
  return Clamp<uint8_t>(ctx.work(), x, low, high, y);
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(quantized_activation, cpu) {
  for (DType dtype : {DType::kQuint8, DType::kQint32}) {
    registry.AddFunction<Relu<false>>("QuantizedRelu", kCpu,
                                      {{"Tinput", dtype}, {"out_type", dtype}});
    registry.AddFunction<Relu<true>>("QuantizedRelu6", kCpu,
                                     {{"Tinput", dtype}, {"out_type", dtype}});
  }
}
