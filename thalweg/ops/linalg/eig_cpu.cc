// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "thalweg/base/floating_point.h"
#include "thalweg/ops/linalg/matrix_batch.h"

namespace thalweg {
namespace {

constexpr std::string_view kNoConvergence =
    "Self-adjoint eigen decomposition was not successful. The input might not be valid.";

class EigCpu : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<EigCpu>();
    ASSIGN_OR_RETURN(kernel->compute_v_, c.Attr<bool>("compute_v"));
    kernel->self_adjoint_ = c.node().op_name() != "Eig";
    kernel->out_ = c.output_type(0);
    return std::unique_ptr<Kernel>(std::move(kernel));
  }
  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const MatrixBatch a, SquareMatrices(ctx.input(0)));
    const int64_t n = a.rows;
    ASSIGN_OR_RETURN(const Shape e_shape, a.With({n}));
    ASSIGN_OR_RETURN(Tensor * e, ctx.AllocateOutput(0, out_, e_shape));
    ASSIGN_OR_RETURN(Tensor * v,
                     ctx.AllocateOutput(1, out_, compute_v_ ? a.tensor->shape() : Shape{0}));
    if (e->num_elements() == 0) return OkStatus();
    const compute::LinalgKernels* kernels = compute::LinalgKernelsOf(a.tensor->dtype());
    const auto run = self_adjoint_ ? kernels->self_adjoint_eigen : kernels->eigen;
    return ForEachMatrix(
        ctx, a.count, (self_adjoint_ ? 10 : 25) * Cubed(n),
        self_adjoint_ ? kNoConvergence
                      : "Eigen decomposition was not successful. The input might not be valid.",
        [&](int64_t i) {
          // TensorFlow's keeps denormal entries: they have eigenvectors as others have.
          const FloatingPointScope scope(FloatingPointScope::Denormals::kKept);
          return run(n, a.At(i), ElementAt(*e, i * n),
                     compute_v_ ? ElementAt(*v, i * n * n) : nullptr);
        });
  }

 private:
  bool compute_v_ = true;
  bool self_adjoint_ = false;
  DType out_ = DType::kInvalid;
};

Status OldSelfAdjointEig(Context& ctx) {
  ASSIGN_OR_RETURN(const MatrixBatch a, SquareMatrices(ctx.input(0)));
  const int64_t n = a.rows;
  ASSIGN_OR_RETURN(const Shape shape, a.With({n + 1, n}));
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, a.tensor->dtype(), shape));
  if (out->num_elements() == 0) return OkStatus();
  const compute::LinalgKernels* kernels = compute::LinalgKernelsOf(a.tensor->dtype());
  return ForEachMatrix(ctx, a.count, 10 * Cubed(n), kNoConvergence, [&](int64_t i) {
    const int64_t first = i * (n + 1) * n;
    return kernels->self_adjoint_eigen(n, a.At(i), ElementAt(*out, first),
                                       ElementAt(*out, first + n));
  });
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(eig, cpu) {
  for (DType dtype : kLinalgTypes) {
    const bool is_double = dtype == DType::kDouble || dtype == DType::kComplex128;
    registry.Add<EigCpu>(
        "Eig", kCpu, {{"T", dtype}, {"Tout", is_double ? DType::kComplex128 : DType::kComplex64}});
    registry.Add<EigCpu>("SelfAdjointEigV2", kCpu, {{"T", dtype}});
  }
  for (DType dtype : kRealLinalgTypes) {
    registry.Add<EigCpu>("BatchSelfAdjointEigV2", kCpu, {{"T", dtype}});
    registry.AddFunction<OldSelfAdjointEig>("SelfAdjointEig", kCpu, {{"T", dtype}});
    registry.AddFunction<OldSelfAdjointEig>("BatchSelfAdjointEig", kCpu, {{"T", dtype}});
  }
}
