// SPDX-License-Identifier: Apache-2.0
#include "thalweg/ops/linalg/matrix_batch.h"

namespace thalweg {
namespace {

using compute::LinalgKernels;
using FunctionField = compute::LinalgResult (*LinalgKernels::*)(int64_t, const void*, void*);

template <FunctionField kField>
Status MatrixFunction(Context& ctx) {
  ASSIGN_OR_RETURN(const MatrixBatch a, SquareMatrices(ctx.input(0)));
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, a.tensor->dtype(), a.tensor->shape()));
  if (out->num_elements() == 0) return OkStatus();
  const auto run = compute::LinalgKernelsOf(a.tensor->dtype())->*kField;
  return ForEachMatrix(
      ctx, a.count, 30 * Cubed(a.rows), "the decomposition failed",
      [&](int64_t i) { return run(a.rows, a.At(i), ElementAt(*out, i * a.size())); });
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(matrix_function, cpu) {
  for (DType dtype : kLinalgTypes) {
    registry.AddFunction<MatrixFunction<&LinalgKernels::square_root>>("MatrixSquareRoot", kCpu,
                                                                      {{"T", dtype}});
    registry.AddFunction<MatrixFunction<&LinalgKernels::exponential>>("MatrixExponential", kCpu,
                                                                      {{"T", dtype}});
    if (IsComplex(dtype)) {
      registry.AddFunction<MatrixFunction<&LinalgKernels::logarithm>>("MatrixLogarithm", kCpu,
                                                                      {{"T", dtype}});
    }
  }
}
