// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "thalweg/ops/linalg/matrix_batch.h"

namespace thalweg {
namespace {

using compute::LinalgResult;

// What TensorFlow 2.21 gives for a matrix that has no factor.
template <class T>
void FillLowerWithNan(int64_t n, char* data) {
  T* out = reinterpret_cast<T*>(data);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      out[i * n + j] = j <= i ? T(std::numeric_limits<double>::quiet_NaN()) : T(0);
    }
  }
}

template <class T>
Status Cholesky(Context& ctx) {
  ASSIGN_OR_RETURN(const MatrixBatch a, SquareMatrices(ctx.input(0)));
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, kDTypeOf<T>, a.tensor->shape()));
  const compute::LinalgKernels* kernels = compute::LinalgKernelsOf(kDTypeOf<T>);
  const int64_t n = a.rows;
  if (n == 0) return OkStatus();
  return ForEachMatrix(ctx, a.count, Cubed(n) / 3, "", [&](int64_t i) {
    char* const l = ElementAt(*out, i * a.size());
    const LinalgResult result = kernels->cholesky(n, a.At(i), l);
    if (result != LinalgResult::kFailed) return result;
    FillLowerWithNan<T>(n, l);
    return LinalgResult::kOk;
  });
}

Status CholeskyGrad(Context& ctx) {
  ASSIGN_OR_RETURN(const MatrixBatch l, SquareMatrices(ctx.input(0)));
  ASSIGN_OR_RETURN(const MatrixBatch grad, SquareMatrices(ctx.input(1), 1));
  if (l.tensor->shape() != grad.tensor->shape()) {
    return InvalidArgument("l and grad must have one shape, got ", l.tensor->shape(), " and ",
                           grad.tensor->shape());
  }
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, l.tensor->dtype(), l.tensor->shape()));
  if (out->num_elements() == 0) return OkStatus();
  const compute::LinalgKernels* kernels = compute::LinalgKernelsOf(l.tensor->dtype());
  return ForEachMatrix(ctx, l.count, 3 * Cubed(l.rows), "", [&](int64_t i) {
    return kernels->cholesky_gradient(l.rows, l.At(i), grad.At(i), ElementAt(*out, i * l.size()));
  });
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(cholesky, cpu) {
  ForEachType<Types<float, double>>([&]<class T>() {
    registry.AddFunction<Cholesky<T>>("BatchCholesky", kCpu, {{"T", kDTypeOf<T>}});
  });
  ForEachType<Types<float, double, std::complex<float>, std::complex<double>>>([&]<class T>() {
    registry.AddFunction<Cholesky<T>>("Cholesky", kCpu, {{"T", kDTypeOf<T>}});
  });
  for (DType dtype : kRealLinalgTypes) {
    registry.AddFunction<CholeskyGrad>("CholeskyGrad", kCpu, {{"T", dtype}});
    registry.AddFunction<CholeskyGrad>("BatchCholeskyGrad", kCpu, {{"T", dtype}});
  }
}
