// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "thalweg/ops/linalg/widened.h"

namespace thalweg {
namespace {

class QrCpu : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<QrCpu>();
    ASSIGN_OR_RETURN(kernel->full_, c.Attr<bool>("full_matrices"));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }
  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const Tensor input, Widened(ctx, ctx.input(0)));
    ASSIGN_OR_RETURN(const MatrixBatch a, Matrices(input));
    const int64_t m = a.rows, n = a.columns, p = full_ ? m : std::min(m, n);
    ASSIGN_OR_RETURN(const Shape q_shape, a.With({m, p}));
    ASSIGN_OR_RETURN(const Shape r_shape, a.With({p, n}));
    ASSIGN_OR_RETURN(WidenedOutput q, WidenedOutput::Allocate(ctx, 0, q_shape));
    ASSIGN_OR_RETURN(WidenedOutput r, WidenedOutput::Allocate(ctx, 1, r_shape));
    if (q_shape.num_elements() == 0 && r_shape.num_elements() == 0) return OkStatus();
    const compute::LinalgKernels* kernels = compute::LinalgKernelsOf(input.dtype());
    const double flops = 4.0 * m * n * std::min(m, n);
    RETURN_IF_ERROR(ForEachMatrix(ctx, a.count, flops, "", [&](int64_t i) {
      return kernels->qr(m, n, a.At(i), full_, ElementAt(q.tensor(), i * m * p),
                         ElementAt(r.tensor(), i * p * n));
    }));
    RETURN_IF_ERROR(q.Finish());
    return r.Finish();
  }

 private:
  bool full_ = false;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(qr, cpu) {
  for (DType dtype : kLinalgTypes) registry.Add<QrCpu>("Qr", kCpu, {{"T", dtype}});
  registry.Add<QrCpu>("Qr", kCpu, {{"T", DType::kHalf}});
}
