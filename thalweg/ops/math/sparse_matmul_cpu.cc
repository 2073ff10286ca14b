// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/ew/ew.h"
#include "thalweg/compute/gemm/gemm.h"
#include "thalweg/kernel/kernel_registry.h"

namespace thalweg {
namespace {

// The hints are not needed: the dense product is fast, and the same.
class SparseMatMulCpu : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<SparseMatMulCpu>();
    ASSIGN_OR_RETURN(kernel->transpose_a_, c.Attr<bool>("transpose_a"));
    ASSIGN_OR_RETURN(kernel->transpose_b_, c.Attr<bool>("transpose_b"));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(Context& ctx) override {
    const Tensor &a = ctx.input(0), &b = ctx.input(1);
    if (a.rank() != 2 || b.rank() != 2) {
      return InvalidArgument("a and b must be matrices, a is ", a.shape(), ", b is ", b.shape());
    }
    const int64_t m = a.dim(transpose_a_ ? 1 : 0), k = a.dim(transpose_a_ ? 0 : 1);
    const int64_t n = b.dim(transpose_b_ ? 0 : 1);
    if (b.dim(transpose_b_ ? 1 : 0) != k) {
      return InvalidArgument("Matrix size incompatible: a: ", a.shape(), ", b: ", b.shape(),
                             "; inner dimensions differ: a is ", a.shape(),
                             transpose_a_ ? " transposed" : "", ", b is ", b.shape(),
                             transpose_b_ ? " transposed" : "");
    }
    ASSIGN_OR_RETURN(const Tensor wide_a, Floats(ctx, a));
    ASSIGN_OR_RETURN(const Tensor wide_b, Floats(ctx, b));
    ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, DType::kFloat, Shape{m, n}));
    using compute::Transpose;
    const auto shape =
        compute::GemmShape::Dense(m, n, k, transpose_a_ ? Transpose::kYes : Transpose::kNo,
                                  transpose_b_ ? Transpose::kYes : Transpose::kNo);
    return compute::Gemm(ctx.work(), DType::kFloat, shape, wide_a.raw_data(), wide_b.raw_data(),
                         y->mutable_raw_data());
  }

 private:
  static Result<Tensor> Floats(Context& ctx, const Tensor& x) {
    if (x.dtype() == DType::kFloat) return x;
    ASSIGN_OR_RETURN(Tensor wide, ctx.AllocateTemporary(DType::kFloat, x.shape()));
    RETURN_IF_ERROR(compute::RunCast(ctx.work(), x.dtype(), DType::kFloat, x.num_elements(),
                                     x.raw_data(), wide.mutable_raw_data()));
    return wide;
  }

  bool transpose_a_ = false;
  bool transpose_b_ = false;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(sparse_matmul, cpu) {
  for (DType a : {DType::kFloat, DType::kBfloat16}) {
    for (DType b : {DType::kFloat, DType::kBfloat16}) {
      registry.Add<SparseMatMulCpu>("SparseMatMul", kCpu, {{"Ta", a}, {"Tb", b}});
    }
  }
}
