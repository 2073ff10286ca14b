// SPDX-License-Identifier: Apache-2.0
#include "thalweg/ops/linalg/matrix_batch.h"

namespace thalweg {
namespace {

Status Determinant(Context& ctx) {
  ASSIGN_OR_RETURN(const MatrixBatch a, SquareMatrices(ctx.input(0)));
  const DType dtype = a.tensor->dtype();
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, dtype, Shape(a.leading)));
  const compute::LinalgKernels* kernels = compute::LinalgKernelsOf(dtype);
  return ForEachMatrix(ctx, a.count, Cubed(a.rows), "", [&](int64_t i) {
    return kernels->determinant(a.rows, a.At(i), ElementAt(*out, i));
  });
}

Status LogDeterminant(Context& ctx) {
  ASSIGN_OR_RETURN(const MatrixBatch a, SquareMatrices(ctx.input(0)));
  const DType dtype = a.tensor->dtype();
  ASSIGN_OR_RETURN(Tensor * sign, ctx.AllocateOutput(0, dtype, Shape(a.leading)));
  ASSIGN_OR_RETURN(Tensor * log_abs, ctx.AllocateOutput(1, dtype, Shape(a.leading)));
  const compute::LinalgKernels* kernels = compute::LinalgKernelsOf(dtype);
  return ForEachMatrix(ctx, a.count, Cubed(a.rows), "", [&](int64_t i) {
    return kernels->log_determinant(a.rows, a.At(i), ElementAt(*sign, i), ElementAt(*log_abs, i));
  });
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(determinant, cpu) {
  for (DType dtype : kLinalgTypes) {
    registry.AddFunction<Determinant>("MatrixDeterminant", kCpu, {{"T", dtype}});
    registry.AddFunction<Determinant>("BatchMatrixDeterminant", kCpu, {{"T", dtype}});
    registry.AddFunction<LogDeterminant>("LogMatrixDeterminant", kCpu, {{"T", dtype}});
  }
}
