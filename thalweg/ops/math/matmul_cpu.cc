// SPDX-License-Identifier: Apache-2.0
#include "thalweg/ops/math/matmul_kernel.h"

namespace thalweg {
namespace {

class MatMulCpu : public Kernel {
 public:
  explicit MatMulCpu(MatMulAttrs attrs) : attrs_(attrs) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const MatMulAttrs attrs, MatMulAttrs::Parse(c));
    return std::unique_ptr<Kernel>(std::make_unique<MatMulCpu>(attrs));
  }

  Status Compute(Context& ctx) override {
    const Tensor& a = ctx.input(0);
    const Tensor& b = ctx.input(1);
    ASSIGN_OR_RETURN(const compute::GemmShape shape, attrs_.ShapeOf(a, b));
    ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, a.dtype(), Shape{shape.m, shape.n}));
    return compute::Gemm(ctx.work(), a.dtype(), shape, a.raw_data(), b.raw_data(),
                         y->mutable_raw_data());
  }

 private:
  const MatMulAttrs attrs_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(matmul, cpu) {
  for (DType dtype : {DType::kFloat, DType::kDouble, DType::kHalf, DType::kBfloat16, DType::kInt32,
                      DType::kInt64, DType::kComplex64, DType::kComplex128}) {
    registry.Add<MatMulCpu>("MatMul", kCpu, {{"T", dtype}});
  }
}
