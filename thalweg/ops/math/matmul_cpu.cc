// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/gemm/gemm.h"
#include "thalweg/kernel/kernel_registry.h"

namespace thalweg {
namespace {

class MatMulCpu : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<MatMulCpu>();
    ASSIGN_OR_RETURN(kernel->transpose_a_, c.Attr<bool>("transpose_a"));
    ASSIGN_OR_RETURN(kernel->transpose_b_, c.Attr<bool>("transpose_b"));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(Context& ctx) override {
    const Tensor& a = ctx.input(0);
    const Tensor& b = ctx.input(1);
    if (a.rank() != 2 || b.rank() != 2) {
      return InvalidArgument("a and b must be matrices, a is ", a.shape(), ", b is ", b.shape());
    }
    const int64_t m = a.dim(transpose_a_ ? 1 : 0), k = a.dim(transpose_a_ ? 0 : 1);
    const int64_t n = b.dim(transpose_b_ ? 0 : 1);
    if (b.dim(transpose_b_ ? 1 : 0) != k) {
      return InvalidArgument("inner dimensions differ: a is ", a.shape(),
                             transpose_a_ ? " transposed" : "", ", b is ", b.shape(),
                             transpose_b_ ? " transposed" : "");
    }
    ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, a.dtype(), Shape{m, n}));
    using compute::Transpose;
    const auto shape =
        compute::GemmShape::Dense(m, n, k, transpose_a_ ? Transpose::kYes : Transpose::kNo,
                                  transpose_b_ ? Transpose::kYes : Transpose::kNo);
    return compute::Gemm(ctx.work(), a.dtype(), shape, a.raw_data(), b.raw_data(),
                         y->mutable_raw_data());
  }

 private:
  bool transpose_a_ = false;
  bool transpose_b_ = false;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(matmul, cpu) {
  for (DType dtype : {DType::kFloat, DType::kDouble, DType::kHalf, DType::kBfloat16, DType::kInt32,
                      DType::kInt64, DType::kComplex64, DType::kComplex128}) {
    registry.Add<MatMulCpu>("MatMul", kCpu, {{"T", dtype}});
  }
}
