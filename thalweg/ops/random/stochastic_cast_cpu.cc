// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/random/stochastic_cast.h"
#include "thalweg/ops/random/random_stream.h"

namespace thalweg {
namespace {

template <DType kTo>
Status StochasticCast(Context& ctx) {
  const Tensor& x = ctx.input(0);
  ASSIGN_OR_RETURN(const Philox stream, StreamOfKey(ctx.input(1), ctx.input(2), ctx.input(3)));
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, kTo, x.shape()));
  return compute::StochasticCast(ctx.work(), x.dtype(), kTo, stream, x.raw_data(),
                                 out->mutable_raw_data(), x.num_elements());
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(stochastic_cast, cpu) {
  for (DType from : {DType::kHalf, DType::kBfloat16, DType::kFloat, DType::kDouble}) {
    registry.AddFunction<StochasticCast<DType::kInt8>>("StochasticCastToInt", kCpu,
                                                       {{"Tin", from}, {"Tout", DType::kInt8}});
    registry.AddFunction<StochasticCast<DType::kInt16>>("StochasticCastToInt", kCpu,
                                                        {{"Tin", from}, {"Tout", DType::kInt16}});
    registry.AddFunction<StochasticCast<DType::kInt32>>("StochasticCastToInt", kCpu,
                                                        {{"Tin", from}, {"Tout", DType::kInt32}});
  }
}
