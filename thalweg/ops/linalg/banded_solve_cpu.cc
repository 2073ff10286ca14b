// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/linalg/banded.h"
#include "thalweg/ops/linalg/widened.h"

namespace thalweg {
namespace {

class BandedSolveCpu : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<BandedSolveCpu>();
    ASSIGN_OR_RETURN(kernel->adjoint_, c.Attr<bool>("adjoint"));
    ASSIGN_OR_RETURN(kernel->lower_, c.Attr<bool>("lower"));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }
  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const MatrixBatch a, Matrices(ctx.input(0)));
    ASSIGN_OR_RETURN(const MatrixBatch rhs, Matrices(ctx.input(1), 1));
    if (a.columns != rhs.rows || a.rows == 0) {
      return InvalidArgument("Input matrix and rhs are incompatible: bands ", a.tensor->shape(),
                             ", rhs ", rhs.tensor->shape());
    }
    ASSIGN_OR_RETURN(const BroadcastBatch batch, BroadcastBatch::Of(a, rhs));
    ASSIGN_OR_RETURN(const Shape shape, batch.With({rhs.rows, rhs.columns}));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, a.tensor->dtype(), shape));
    if (out->num_elements() == 0) return OkStatus();
    const compute::BandedKernels* kernels = compute::BandedKernelsOf(a.tensor->dtype());
    const double flops = 2.0 * a.size() * rhs.columns;
    return ForEachMatrix(
        ctx, batch.count(), flops, "Input matrix is not invertible.", [&](int64_t i) {
          const bool solved = kernels->triangular_solve(
              a.rows, a.columns, rhs.columns, a.At(batch.left(i)), rhs.At(batch.right(i)), lower_,
              adjoint_, ElementAt(*out, i * rhs.size()));
          return solved ? compute::LinalgResult::kOk : compute::LinalgResult::kFailed;
        });
  }

 private:
  bool lower_ = true;
  bool adjoint_ = false;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(banded_solve, cpu) {
  for (DType dtype : kLinalgTypes) {
    registry.Add<BandedSolveCpu>("BandedTriangularSolve", kCpu, {{"T", dtype}});
  }
}
