// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "thalweg/compute/interruptible.h"
#include "thalweg/compute/move/gather.h"
#include "thalweg/compute/random/cluster_seeds.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

Status KmeansPlusPlus(Context& ctx) {
  const Tensor& points = ctx.input(0);
  if (points.rank() != 2) {
    return InvalidArgument("points must be a matrix, got shape ", points.shape());
  }
  ASSIGN_OR_RETURN(const int64_t wanted, IntScalar(ctx.input(1), "num_to_sample"));
  ASSIGN_OR_RETURN(const int64_t seed, IntScalar(ctx.input(2), "seed"));
  ASSIGN_OR_RETURN(int64_t retries, IntScalar(ctx.input(3), "num_retries_per_sample"));
  const int64_t n = points.dim(0), dims = points.dim(1);
  if (n == 0) return InvalidArgument("points must have a row, got shape ", points.shape());
  if (wanted <= 0) return InvalidArgument("num_to_sample must be positive, got ", wanted);
  if (wanted > n) {
    return InvalidArgument("num_to_sample must not be more than there are points, got ", wanted,
                           " and ", n);
  }
  if (retries < 0) retries = 2 + static_cast<int64_t>(std::log(static_cast<double>(wanted)));
  ASSIGN_OR_RETURN(Tensor chosen, ctx.AllocateTemporary(DType::kInt64, Shape{wanted}));
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, DType::kFloat, Shape{wanted, dims}));
  RETURN_IF_ERROR(compute::KmeansPlusPlus(
      ctx.work(), {.points = n, .dims = dims, .wanted = wanted, .retries = retries},
      static_cast<uint64_t>(seed), points.data<float>(), chosen.mutable_data<int64_t>()));
  return compute::GatherRows(ctx.work(), DType::kFloat, {.rows = n, .inner = dims, .count = wanted},
                             points.raw_data(), chosen.data<int64_t>(), out->mutable_raw_data());
}

Status KMC2Chain(Context& ctx) {
  const Tensor& distances = ctx.input(0);
  if (distances.rank() != 1 || distances.num_elements() == 0) {
    return InvalidArgument("distances must be a vector that is not empty, got shape ",
                           distances.shape());
  }
  ASSIGN_OR_RETURN(const int64_t seed, IntScalar(ctx.input(1), "seed"));
  return compute::Interruptibly(ctx.work(), [&] {
    ctx.set_output(
        0, Tensor::Scalar(compute::KMC2Chain(static_cast<uint64_t>(seed), distances.data<float>(),
                                             distances.num_elements())));
  });
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(cluster_seeds, cpu) {
  registry.AddFunction<KMC2Chain>("KMC2ChainInitialization", kCpu);
  registry.AddFunction<KmeansPlusPlus>("KmeansPlusPlusInitialization", kCpu);
}
