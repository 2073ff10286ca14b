// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "thalweg/ops/linalg/matrix_batch.h"

namespace thalweg {
namespace {

class SvdCpu : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<SvdCpu>();
    ASSIGN_OR_RETURN(kernel->compute_uv_, c.Attr<bool>("compute_uv"));
    ASSIGN_OR_RETURN(kernel->full_, c.Attr<bool>("full_matrices"));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }
  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const MatrixBatch a, Matrices(ctx.input(0)));
    const DType dtype = a.tensor->dtype();
    const int64_t m = a.rows, n = a.columns, small = std::min(m, n);
    const int64_t u_columns = full_ ? m : small, v_columns = full_ ? n : small;
    ASSIGN_OR_RETURN(const Shape s_shape, a.With({small}));
    ASSIGN_OR_RETURN(Shape u_shape, a.With({m, u_columns}));
    ASSIGN_OR_RETURN(Shape v_shape, a.With({n, v_columns}));
    if (!compute_uv_) u_shape = v_shape = Shape{0};
    ASSIGN_OR_RETURN(Tensor * s, ctx.AllocateOutput(0, dtype, s_shape));
    ASSIGN_OR_RETURN(Tensor * u, ctx.AllocateOutput(1, dtype, u_shape));
    ASSIGN_OR_RETURN(Tensor * v, ctx.AllocateOutput(2, dtype, v_shape));
    if (s->num_elements() == 0 && u->num_elements() == 0 && v->num_elements() == 0) {
      return OkStatus();
    }
    const compute::LinalgKernels* kernels = compute::LinalgKernelsOf(dtype);
    const double flops = (compute_uv_ ? 20.0 : 4.0) * m * n * small;
    return ForEachMatrix(ctx, a.count, flops, "", [&](int64_t i) {
      return kernels->svd(m, n, a.At(i), full_, ElementAt(*s, i * small),
                          compute_uv_ ? ElementAt(*u, i * m * u_columns) : nullptr,
                          compute_uv_ ? ElementAt(*v, i * n * v_columns) : nullptr);
    });
  }

 private:
  bool compute_uv_ = true;
  bool full_ = false;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(svd, cpu) {
  for (DType dtype : kLinalgTypes) {
    registry.Add<SvdCpu>("Svd", kCpu, {{"T", dtype}});
    registry.Add<SvdCpu>("BatchSvd", kCpu, {{"T", dtype}});
  }
}
