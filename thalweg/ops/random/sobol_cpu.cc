// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "thalweg/compute/random/sobol.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

constexpr int64_t kMostDims = 21200;  // TensorFlow's

template <DType kType>
Status SobolSample(Context& ctx) {
  ASSIGN_OR_RETURN(const int64_t dims, IntScalar(ctx.input(0), "dim"));
  ASSIGN_OR_RETURN(const int64_t count, IntScalar(ctx.input(1), "num_results"));
  ASSIGN_OR_RETURN(const int64_t skip, IntScalar(ctx.input(2), "skip"));
  if (dims < 1) return InvalidArgument("dim must be at least one, got ", dims);
  if (dims > kMostDims) return InvalidArgument("dim must be at most ", kMostDims, ", got ", dims);
  if (dims > compute::kMaxSobolDims) {
    return Unimplemented("Sobol sequences of more than ", compute::kMaxSobolDims,
                         " dimensions, got ", dims);
  }
  if (count < 1) return InvalidArgument("num_results must be at least one, got ", count);
  if (skip < 0) return InvalidArgument("skip must be non-negative, got ", skip);
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  if (count + skip >= kMost) {
    return InvalidArgument("num_results+skip must be less than ", kMost, ", got ", count + skip);
  }
  ASSIGN_OR_RETURN(const Shape shape, Shape::Make(Dims{count, dims}));
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, kType, shape));
  return compute::SobolPoints(ctx.work(), kType, {.dims = dims, .count = count, .skip = skip},
                              out->mutable_raw_data());
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(sobol, cpu) {
  registry.AddFunction<SobolSample<DType::kFloat>>("SobolSample", kCpu, {{"dtype", DType::kFloat}});
  registry.AddFunction<SobolSample<DType::kDouble>>("SobolSample", kCpu,
                                                    {{"dtype", DType::kDouble}});
}
