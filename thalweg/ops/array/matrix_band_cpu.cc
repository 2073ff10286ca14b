// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/move/diagonals.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

Status MatrixBandPart(Context& ctx) {
  const Tensor& x = ctx.input(0);
  const Shape shape = x.shape();
  if (shape.rank() < 2) {
    return InvalidArgument("input must be at least 2-dim, received shape: ", shape);
  }
  ASSIGN_OR_RETURN(const int64_t below, IntScalar(ctx.input(1), "num_lower"));
  ASSIGN_OR_RETURN(const int64_t above, IntScalar(ctx.input(2), "num_upper"));
  const int64_t rows = shape.dim(shape.rank() - 2);
  const int64_t columns = shape.dim(shape.rank() - 1);
  if (below > rows) {
    return InvalidArgument("num_lower must be negative or less or equal to number of rows (", rows,
                           ") got: ", below);
  }
  if (above > columns) {
    return InvalidArgument("num_upper must be negative or less or equal to number of columns (",
                           columns, ") got: ", above);
  }
  int64_t batch = 1;
  for (int i = 0; i < shape.rank() - 2; ++i) batch *= shape.dim(i);
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, x.dtype(), shape));
  return compute::KeepBand(ctx.work(), x.dtype(), batch, rows, columns, below, above, x.raw_data(),
                           out->mutable_raw_data());
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(matrix_band, cpu) {
  registry.AddFunction<MatrixBandPart>("MatrixBandPart", kCpu);
  registry.AddFunction<MatrixBandPart>("BatchMatrixBandPart", kCpu);
}
