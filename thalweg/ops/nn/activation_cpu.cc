// SPDX-License-Identifier: Apache-2.0
#include "thalweg/kernel/element_wise.h"

using thalweg::compute::BinaryOp;
using thalweg::compute::UnaryOp;

namespace thalweg {
namespace {

// alpha as a scalar of the type.
Result<Tensor> AlphaOf(const KernelConstruction& c) {
  ASSIGN_OR_RETURN(const float alpha, c.Attr<float>("alpha"));
  switch (c.output_type(0)) {
    case DType::kFloat:
      return Tensor::Scalar(alpha);
    case DType::kDouble:
      return Tensor::Scalar(static_cast<double>(alpha));
    case DType::kHalf:
      return Tensor::Scalar(Half(alpha));
    case DType::kBfloat16:
      return Tensor::Scalar(Bfloat16(alpha));
    default:
      return Unimplemented("alpha of type ", c.output_type(0));
  }
}

class LeakyReluCpu : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<LeakyReluCpu>();
    ASSIGN_OR_RETURN(kernel->alpha_, AlphaOf(c));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(Context& ctx) override {
    const Tensor& x = ctx.input(0);
    const DType dtype = x.dtype();
    const Shape shape = x.shape();
    const void* data = x.raw_data();
    ASSIGN_OR_RETURN(const auto broadcast, compute::Broadcast::Make({shape.dims(), Dims()}));
    ASSIGN_OR_RETURN(Tensor * y, ctx.TakeOrAllocateOutput({0}, 0, dtype, shape));
    return compute::RunBinary(ctx.work(), BinaryOp::kLeakyRelu, dtype, broadcast, data,
                              alpha_.raw_data(), y->mutable_raw_data());
  }

 private:
  Tensor alpha_;
};

// The gradient where the feature is positive, else alpha times it.
class LeakyReluGradCpu : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<LeakyReluGradCpu>();
    ASSIGN_OR_RETURN(kernel->alpha_, AlphaOf(c));
    ASSIGN_OR_RETURN(kernel->zero_, Tensor::AllocateHost(c.output_type(0), Shape{1}));
    std::memset(kernel->zero_.mutable_raw_data(), 0, kernel->zero_.bytes());
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(Context& ctx) override {
    const Tensor &grad = ctx.input(0), &x = ctx.input(1);
    const Shape shape = x.shape();
    if (grad.shape() != shape) {
      return InvalidArgument("both inputs must have one shape, got ", grad.shape(), " and ",
                             shape.ToString());
    }
    const DType dtype = x.dtype();
    ASSIGN_OR_RETURN(const auto with_scalar, compute::Broadcast::Make({shape.dims(), Dims()}));
    ASSIGN_OR_RETURN(Tensor positive, ctx.AllocateTemporary(DType::kBool, shape));
    RETURN_IF_ERROR(compute::RunBinary(ctx.work(), BinaryOp::kGreater, dtype, with_scalar,
                                       x.raw_data(), zero_.raw_data(),
                                       positive.mutable_raw_data()));
    ASSIGN_OR_RETURN(Tensor * dx, ctx.AllocateOutput(0, dtype, shape));
    RETURN_IF_ERROR(compute::RunBinary(ctx.work(), BinaryOp::kMul, dtype, with_scalar,
                                       grad.raw_data(), alpha_.raw_data(), dx->mutable_raw_data()));
    return compute::RunSelect(
        ctx.work(), DTypeSize(dtype), compute::Broadcast::Dense(shape.num_elements(), 3),
        positive.data<bool>(), grad.raw_data(), dx->raw_data(), dx->mutable_raw_data());
  }

 private:
  Tensor alpha_;
  Tensor zero_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(activation, cpu) {
  AddUnary<UnaryOp::kRelu>(registry, "Relu", kReals);
  AddUnary<UnaryOp::kRelu6>(registry, "Relu6", kReals);
  AddUnary<UnaryOp::kElu>(registry, "Elu", kFloats);
  AddUnary<UnaryOp::kSelu>(registry, "Selu", kFloats);
  AddUnary<UnaryOp::kSoftplus>(registry, "Softplus", kFloats);
  AddUnary<UnaryOp::kSoftsign>(registry, "Softsign", kFloats);
  AddSameShape<BinaryOp::kReluGrad>(registry, "ReluGrad", kReals);
  AddSameShape<BinaryOp::kRelu6Grad>(registry, "Relu6Grad", kReals);
  AddSameShape<BinaryOp::kEluGrad>(registry, "EluGrad", kFloats);
  AddSameShape<BinaryOp::kSeluGrad>(registry, "SeluGrad", kFloats);
  AddSameShape<BinaryOp::kSoftplusGrad>(registry, "SoftplusGrad", kFloats);
  AddSameShape<BinaryOp::kSoftsignGrad>(registry, "SoftsignGrad", kFloats);
  for (DType dtype : kFloats) {
    registry.Add<LeakyReluCpu>("LeakyRelu", kCpu, {{"T", dtype}});
    registry.Add<LeakyReluGradCpu>("LeakyReluGrad", kCpu, {{"T", dtype}});
  }
}
