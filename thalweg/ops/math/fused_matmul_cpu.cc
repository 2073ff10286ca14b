// SPDX-License-Identifier: Apache-2.0
#include "thalweg/kernel/fused_ops.h"
#include "thalweg/ops/math/matmul_kernel.h"
#include "thalweg/resources/packed_weight.h"

namespace thalweg {
namespace {

class FusedMatMulCpu : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<FusedMatMulCpu>();
    ASSIGN_OR_RETURN(kernel->attrs_, MatMulAttrs::Parse(c));
    ASSIGN_OR_RETURN(kernel->fusion_, FusedOps::Parse(c, false));
    kernel->takes_packed_ = c.node().op_name() == "_PackedMatMul";
    if (c.node().FindAttr("_fused_from") != nullptr) {
      ASSIGN_OR_RETURN(kernel->fused_from_, c.Attr<std::string>("_fused_from"));
    }
    if (c.node().FindAttr("_weight") != nullptr) {
      ASSIGN_OR_RETURN(const std::string weight, c.Attr<std::string>("_weight"));
      RETURN_IF_ERROR(kernel->weight_.Open(c.resources(), weight));
    }
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(Context& ctx) override {
    Status status = Run(ctx);
    if (status.ok() || fused_from_.empty()) return status;
    return status.WithContext(fused_from_);
  }

 private:
  Status Run(Context& ctx) {
    const Tensor &a = ctx.input(0), &b = ctx.input(1);
    ASSIGN_OR_RETURN(const compute::GemmShape shape, attrs_.ShapeOf(a, b));
    const Shape result{shape.m, shape.n};
    const int first_arg = takes_packed_ ? 3 : 2;
    compute::GemmEpilogue epilogue;
    epilogue.relu = fusion_.relu;
    if (fusion_.bias) {
      const Tensor& bias = ctx.input(first_arg);
      if (bias.rank() != 1 || bias.dim(0) != shape.n) {
        return InvalidArgument("bias must have one element per column: the product is ",
                               result.ToString(), ", bias ", bias.shape());
      }
      epilogue.bias = bias.raw_data();
    }
    if (fusion_.residual) {
      const Tensor& residual = ctx.input(first_arg + 1);
      if (residual.shape() != result) {
        return InvalidArgument("what is added must have the shape of the product, ",
                               result.ToString(), ", got ", residual.shape());
      }
      epilogue.residual = residual.raw_data();
    }
    ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, a.dtype(), result));
    if (takes_packed_ || weight_.is_open()) {
      ASSIGN_OR_RETURN(const Tensor packed,
                       takes_packed_ ? Given(ctx, shape) : Packed(ctx, shape, b));
      RETURN_IF_ERROR(compute::PackedGemm(ctx.work(), a.dtype(), shape, a.raw_data(),
                                          packed.raw_data(), y->mutable_raw_data(), epilogue));
    } else {
      RETURN_IF_ERROR(compute::Gemm(ctx.work(), a.dtype(), shape, a.raw_data(), b.raw_data(),
                                    y->mutable_raw_data(), epilogue));
    }
    return fusion_.Activate(ctx.work(), y);
  }

  // What a _PackMatrix made.
  static Result<Tensor> Given(Context& ctx, const compute::GemmShape& shape) {
    const Tensor& packed = ctx.input(2);
    ASSIGN_OR_RETURN(const int64_t size,
                     compute::PackedSize(ctx.work().isa(), DType::kFloat, shape.n, shape.k));
    if (packed.num_elements() < size) {
      return InvalidArgument("packed must have ", size, " elements for a matrix of ", shape.k,
                             " x ", shape.n, ", got ", packed.shape());
    }
    return packed;
  }

  Result<Tensor> Packed(Context& ctx, const compute::GemmShape& shape, const Tensor& b) const {
    const compute::IsaTable& isa = ctx.work().isa();
    const char format[] = {static_cast<char>(isa.level), static_cast<char>(shape.b)};
    const std::string_view bytes(static_cast<const char*>(format), sizeof format);
    const Tensor* const sources[] = {&b};
    Tensor packed = weight_.Find(sources, bytes);
    if (!packed.empty()) return packed;
    ASSIGN_OR_RETURN(const int64_t size, compute::PackedSize(isa, b.dtype(), shape.n, shape.k));
    ASSIGN_OR_RETURN(
        packed, Tensor::Allocate(ctx.allocator(), compute::PackedType(b.dtype()), Shape{size}));
    RETURN_IF_ERROR(
        compute::PackGemm(ctx.work(), b.dtype(), shape, b.raw_data(), packed.mutable_raw_data()));
    weight_.Keep(sources, bytes, packed);
    return packed;
  }

  MatMulAttrs attrs_;
  FusedOps fusion_;
  std::string fused_from_;
  PackedWeightRef weight_;
  bool takes_packed_ = false;  // as input 2, before the args
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(fused_matmul, cpu) {
  for (DType dtype : {DType::kFloat, DType::kHalf, DType::kBfloat16}) {
    registry.Add<FusedMatMulCpu>("_FusedMatMul", kCpu, {{"T", dtype}});
  }
  registry.Add<FusedMatMulCpu>("_PackedMatMul", kCpu);
}
