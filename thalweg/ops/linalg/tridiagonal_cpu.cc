// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/linalg/banded.h"
#include "thalweg/ops/linalg/matrix_batch.h"

namespace thalweg {
namespace {

using compute::LinalgResult;

class TridiagonalSolveCpu : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<TridiagonalSolveCpu>();
    ASSIGN_OR_RETURN(kernel->options_.pivoting, c.Attr<bool>("partial_pivoting"));
    ASSIGN_OR_RETURN(kernel->options_.perturb_singular, c.Attr<bool>("perturb_singular"));
    if (kernel->options_.perturb_singular && !kernel->options_.pivoting) {
      return InvalidArgument("Setting perturb_singular requires also setting partial_pivoting.");
    }
    return std::unique_ptr<Kernel>(std::move(kernel));
  }
  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const MatrixBatch a, Matrices(ctx.input(0)));
    ASSIGN_OR_RETURN(const MatrixBatch rhs, Matrices(ctx.input(1), 1));
    RETURN_IF_ERROR(CheckSameBatch(a, rhs));
    if (a.rows != 3) {
      return InvalidArgument("Expected diagonals to be provided as a matrix with 3 rows, got ",
                             a.rows, " rows.");
    }
    if (a.columns != rhs.rows) {
      return InvalidArgument(
          "Expected the same number of left-hand sides and right-hand sides, got ", a.columns,
          " and ", rhs.rows, ".");
    }
    const DType dtype = a.tensor->dtype();
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, dtype, rhs.tensor->shape()));
    if (out->num_elements() == 0) return OkStatus();
    const compute::BandedKernels* kernels = compute::BandedKernelsOf(dtype);
    const int64_t n = rhs.rows, k = rhs.columns, width = WidthOf(dtype);
    return ForEachMatrix(ctx, a.count, 8.0 * n * k, "", [&](int64_t i) {
      compute::Scratch<char> scratch(ctx.work(), 3 * n * width);
      if (!scratch) return LinalgResult::kOutOfMemory;
      const char* diagonals = a.At(i);
      kernels->tridiagonal_solve(n, k, diagonals, diagonals + n * width, diagonals + 2 * n * width,
                                 rhs.At(i), options_, scratch.get(),
                                 ElementAt(*out, i * rhs.size()));
      return LinalgResult::kOk;
    });
  }

 private:
  compute::TridiagonalOptions options_;
};

Status TridiagonalMatMul(Context& ctx) {
  ASSIGN_OR_RETURN(const MatrixBatch rhs, Matrices(ctx.input(3), 3));
  constexpr std::string_view kNames[] = {"superdiag", "maindiag", "subdiag"};
  MatrixBatch diagonals[3];
  for (int i = 0; i < 3; ++i) {
    ASSIGN_OR_RETURN(diagonals[i], Matrices(ctx.input(i), i));
    RETURN_IF_ERROR(CheckSameBatch(diagonals[i], rhs));
    if (diagonals[i].rows != 1 || diagonals[i].columns != rhs.rows) {
      return InvalidArgument(kNames[i], " must have shape [..., 1, ", rhs.rows, "], got ",
                             diagonals[i].tensor->shape());
    }
  }
  const DType dtype = rhs.tensor->dtype();
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, dtype, rhs.tensor->shape()));
  if (out->num_elements() == 0) return OkStatus();
  const compute::BandedKernels* kernels = compute::BandedKernelsOf(dtype);
  return ForEachMatrix(ctx, rhs.count, 6.0 * rhs.size(), "", [&](int64_t i) {
    kernels->tridiagonal_product(rhs.rows, rhs.columns, diagonals[0].At(i), diagonals[1].At(i),
                                 diagonals[2].At(i), rhs.At(i), ElementAt(*out, i * rhs.size()));
    return LinalgResult::kOk;
  });
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(tridiagonal, cpu) {
  for (DType dtype : kLinalgTypes) {
    registry.Add<TridiagonalSolveCpu>("TridiagonalSolve", kCpu, {{"T", dtype}});
    registry.AddFunction<TridiagonalMatMul>("TridiagonalMatMul", kCpu, {{"T", dtype}});
  }
}
