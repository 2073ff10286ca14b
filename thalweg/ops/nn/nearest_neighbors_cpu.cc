// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "thalweg/compute/reduce/nearest.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

Status NearestNeighbors(Context& ctx) {
  const Tensor &points = ctx.input(0), &centers = ctx.input(1);
  if (points.rank() != 2 || centers.rank() != 2) {
    return InvalidArgument("points and centers must be matrices, got shapes ", points.shape(),
                           " and ", centers.shape());
  }
  if (points.dim(0) == 0) return InvalidArgument("points must have a row, got ", points.shape());
  if (points.dim(1) != centers.dim(1)) {
    return InvalidArgument("points and centers must have as many columns, got ", points.dim(1),
                           " and ", centers.dim(1));
  }
  ASSIGN_OR_RETURN(const int64_t wanted, IntScalar(ctx.input(2), "k"));
  if (wanted < 0) return InvalidArgument("k must not be negative, got ", wanted);
  const int64_t k = std::min(wanted, centers.dim(0));
  ASSIGN_OR_RETURN(const Shape shape, Shape::Make(Dims{points.dim(0), k}));
  ASSIGN_OR_RETURN(Tensor * which, ctx.AllocateOutput(0, DType::kInt64, shape));
  ASSIGN_OR_RETURN(Tensor * distances, ctx.AllocateOutput(1, DType::kFloat, shape));
  return compute::NearestCenters(
      ctx.work(),
      {.points = points.dim(0), .centers = centers.dim(0), .dims = points.dim(1), .k = k},
      points.data<float>(), centers.data<float>(), which->mutable_data<int64_t>(),
      distances->mutable_data<float>());
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(nearest_neighbors, cpu) {
  registry.AddFunction<NearestNeighbors>("NearestNeighbors", kCpu);
}
