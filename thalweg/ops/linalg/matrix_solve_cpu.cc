// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <vector>

#include "thalweg/graph/shape_inference.h"
#include "thalweg/ops/linalg/matrix_batch.h"
#include "thalweg/ops/linalg/widened.h"

namespace thalweg {
namespace {

using compute::LinalgKernels;
using compute::LinalgKernelsOf;

class InverseCpu : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<InverseCpu>();
    ASSIGN_OR_RETURN(kernel->adjoint_, c.Attr<bool>("adjoint"));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }
  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const Tensor input, Widened(ctx, ctx.input(0)));
    ASSIGN_OR_RETURN(const MatrixBatch a, SquareMatrices(input));
    ASSIGN_OR_RETURN(WidenedOutput out, WidenedOutput::Allocate(ctx, 0, a.tensor->shape()));
    if (input.num_elements() == 0) return OkStatus();
    const LinalgKernels* kernels = LinalgKernelsOf(input.dtype());
    RETURN_IF_ERROR(
        ForEachMatrix(ctx, a.count, 2 * Cubed(a.rows), "Input is not invertible.", [&](int64_t i) {
          return kernels->inverse(a.rows, a.At(i), adjoint_, ElementAt(out.tensor(), i * a.size()));
        }));
    return out.Finish();
  }

 private:
  bool adjoint_ = false;
};

Status CheckSystem(const MatrixBatch& a, const MatrixBatch& rhs) {
  if (a.rows == rhs.rows) return OkStatus();
  return InvalidArgument("Input matrix and rhs are incompatible: shapes ", a.tensor->shape(),
                         " and ", rhs.tensor->shape());
}

class SolveCpu : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<SolveCpu>();
    ASSIGN_OR_RETURN(kernel->adjoint_, c.Attr<bool>("adjoint"));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }
  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const MatrixBatch a, SquareMatrices(ctx.input(0)));
    ASSIGN_OR_RETURN(const MatrixBatch rhs, Matrices(ctx.input(1), 1));
    RETURN_IF_ERROR(CheckSameBatch(a, rhs));
    RETURN_IF_ERROR(CheckSystem(a, rhs));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, a.tensor->dtype(), rhs.tensor->shape()));
    if (out->num_elements() == 0) return OkStatus();
    const LinalgKernels* kernels = LinalgKernelsOf(a.tensor->dtype());
    const double flops = Cubed(a.rows) + 2.0 * a.rows * a.rows * rhs.columns;
    return ForEachMatrix(ctx, a.count, flops, "Input matrix is not invertible.", [&](int64_t i) {
      return kernels->solve(a.rows, rhs.columns, a.At(i), rhs.At(i), adjoint_,
                            ElementAt(*out, i * rhs.size()));
    });
  }

 private:
  bool adjoint_ = false;
};

class TriangularSolveCpu : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<TriangularSolveCpu>();
    ASSIGN_OR_RETURN(kernel->adjoint_, c.Attr<bool>("adjoint"));
    ASSIGN_OR_RETURN(kernel->lower_, c.Attr<bool>("lower"));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }
  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const MatrixBatch a, SquareMatrices(ctx.input(0)));
    ASSIGN_OR_RETURN(const MatrixBatch rhs, Matrices(ctx.input(1), 1));
    RETURN_IF_ERROR(CheckSystem(a, rhs));
    ASSIGN_OR_RETURN(const BroadcastBatch batch, BroadcastBatch::Of(a, rhs));
    ASSIGN_OR_RETURN(const Shape shape, batch.With({a.rows, rhs.columns}));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, a.tensor->dtype(), shape));
    if (out->num_elements() == 0) return OkStatus();
    const LinalgKernels* kernels = LinalgKernelsOf(a.tensor->dtype());
    const double flops = 1.0 * a.rows * a.rows * rhs.columns;
    return ForEachMatrix(ctx, batch.count(), flops, "", [&](int64_t i) {
      return kernels->triangular_solve(a.rows, rhs.columns, a.At(batch.left(i)),
                                       rhs.At(batch.right(i)), lower_, adjoint_,
                                       ElementAt(*out, i * rhs.size()));
    });
  }

 private:
  bool lower_ = true;
  bool adjoint_ = false;
};

class LeastSquaresCpu : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<LeastSquaresCpu>();
    ASSIGN_OR_RETURN(kernel->fast_, c.Attr<bool>("fast"));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }
  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const MatrixBatch a, Matrices(ctx.input(0)));
    ASSIGN_OR_RETURN(const MatrixBatch rhs, Matrices(ctx.input(1), 1));
    RETURN_IF_ERROR(CheckSameBatch(a, rhs));
    RETURN_IF_ERROR(CheckSystem(a, rhs));
    if (ctx.input(2).rank() != 0) {
      return InvalidArgument("l2_regularizer must be scalar, got shape ", ctx.input(2).shape());
    }
    const double l2 = ctx.input(2).scalar<double>();
    if (!(l2 >= 0)) return InvalidArgument("l2_regularizer must be >= 0, got ", l2);
    ASSIGN_OR_RETURN(const Shape shape, a.With({a.columns, rhs.columns}));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, a.tensor->dtype(), shape));
    if (out->num_elements() == 0) return OkStatus();
    const LinalgKernels* kernels = LinalgKernelsOf(a.tensor->dtype());
    const double flops = 2.0 * a.rows * a.columns * (std::min(a.rows, a.columns) + rhs.columns);
    return ForEachMatrix(
        ctx, a.count, flops,
        "Input matrix was rank deficient or ill-conditioned. Try setting fast=False or provide a "
        "larger l2_regularizer > 0.",
        [&](int64_t i) {
          return kernels->least_squares(a.rows, a.columns, rhs.columns, a.At(i), rhs.At(i), l2,
                                        fast_, ElementAt(*out, i * a.columns * rhs.columns));
        });
  }

 private:
  bool fast_ = true;
};

template <class Index>
Status Lu(Context& ctx) {
  ASSIGN_OR_RETURN(const MatrixBatch a, SquareMatrices(ctx.input(0)));
  const int64_t n = a.rows;
  ASSIGN_OR_RETURN(Tensor * lu, ctx.AllocateOutput(0, a.tensor->dtype(), a.tensor->shape()));
  ASSIGN_OR_RETURN(const Shape rows, a.With({n}));
  ASSIGN_OR_RETURN(Tensor * p, ctx.AllocateOutput(1, kDTypeOf<Index>, rows));
  ASSIGN_OR_RETURN(Tensor order, ctx.AllocateTemporary(DType::kInt64, rows));
  if (lu->num_elements() == 0) return OkStatus();
  const LinalgKernels* kernels = LinalgKernelsOf(a.tensor->dtype());
  int64_t* const wide = order.mutable_data<int64_t>();
  RETURN_IF_ERROR(ForEachMatrix(ctx, a.count, Cubed(n), "Input is not invertible.", [&](int64_t i) {
    return kernels->lu(n, a.At(i), ElementAt(*lu, i * a.size()), wide + i * n);
  }));
  std::copy_n(wide, order.num_elements(), p->mutable_data<Index>());
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(matrix_solve, cpu) {
  for (DType dtype : kLinalgTypes) {
    registry.Add<InverseCpu>("MatrixInverse", kCpu, {{"T", dtype}});
    registry.Add<SolveCpu>("MatrixSolve", kCpu, {{"T", dtype}});
    registry.Add<TriangularSolveCpu>("MatrixTriangularSolve", kCpu, {{"T", dtype}});
    registry.Add<LeastSquaresCpu>("MatrixSolveLs", kCpu, {{"T", dtype}});
    registry.AddFunction<Lu<int32_t>>("Lu", kCpu,
                                      {{"T", dtype}, {"output_idx_type", DType::kInt32}});
    registry.AddFunction<Lu<int64_t>>("Lu", kCpu,
                                      {{"T", dtype}, {"output_idx_type", DType::kInt64}});
  }
  registry.Add<InverseCpu>("MatrixInverse", kCpu, {{"T", DType::kHalf}});
  for (DType dtype : kRealLinalgTypes) {
    registry.Add<InverseCpu>("BatchMatrixInverse", kCpu, {{"T", dtype}});
    registry.Add<SolveCpu>("BatchMatrixSolve", kCpu, {{"T", dtype}});
    registry.Add<TriangularSolveCpu>("BatchMatrixTriangularSolve", kCpu, {{"T", dtype}});
    registry.Add<LeastSquaresCpu>("BatchMatrixSolveLs", kCpu, {{"T", dtype}});
  }
}
