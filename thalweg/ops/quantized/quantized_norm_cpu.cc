// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/quantized/level_norm.h"
#include "thalweg/ops/quantized/range_inputs.h"

namespace thalweg {
namespace {

using compute::RealRange;

class InstanceNormCpu : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<InstanceNormCpu>();
    ASSIGN_OR_RETURN(kernel->is_given_, c.Attr<bool>("output_range_given"));
    ASSIGN_OR_RETURN(kernel->given_.low, c.Attr<float>("given_y_min"));
    ASSIGN_OR_RETURN(kernel->given_.high, c.Attr<float>("given_y_max"));
    ASSIGN_OR_RETURN(kernel->epsilon_, c.Attr<float>("variance_epsilon"));
    ASSIGN_OR_RETURN(kernel->separation_, c.Attr<float>("min_separation"));
    if (kernel->is_given_ && !(kernel->given_.low < kernel->given_.high)) {
      return InvalidArgument("given_y_min must be less than given_y_max, got ", kernel->given_.low,
                             " and ", kernel->given_.high);
    }
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(Context& ctx) override {
    const Tensor& x = ctx.input(0);
    if (x.rank() != 4) return InvalidArgument("x must be 4-dimensional, got ", x.shape());
    ASSIGN_OR_RETURN(const RealRange range, ScalarRange(ctx, 1, "x"));
    ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, x.dtype(), x.shape()));
    ASSIGN_OR_RETURN(Tensor reals, ctx.AllocateTemporary(DType::kFloat, x.shape()));
    const compute::InstanceShape shape{x.dim(0), x.dim(1) * x.dim(2), x.dim(3)};
    RETURN_IF_ERROR(compute::NormalizeInstances(ctx.work(), shape, range, epsilon_,
                                                static_cast<const uint8_t*>(x.raw_data()),
                                                reals.mutable_data<float>()));
    const RealRange to =
        is_given_ ? given_ : compute::RangeOf(x.num_elements(), reals.data<float>(), separation_);
    SetRange(ctx, 1, to);
    return compute::LevelsIn(ctx.work(), x.num_elements(), to, reals.data<float>(),
                             static_cast<uint8_t*>(y->mutable_raw_data()));
  }

 private:
  bool is_given_ = false;
  RealRange given_;
  float epsilon_ = 0, separation_ = 0;
};

class BatchNormCpu : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<BatchNormCpu>();
    ASSIGN_OR_RETURN(kernel->epsilon_, c.Attr<float>("variance_epsilon"));
    ASSIGN_OR_RETURN(kernel->scale_, c.Attr<bool>("scale_after_normalization"));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(Context& ctx) override {
    const Tensor& t = ctx.input(0);
    if (t.rank() != 4) return InvalidArgument("input must be 4-dimensional, got ", t.shape());
    compute::LevelBatchNorm norm{.epsilon = epsilon_, .scale = scale_, .channels = t.dim(3)};
    for (int i = 0; i < 5; ++i) {
      const Tensor& operand = ctx.input(3 * i);
      if (i > 0 && (operand.rank() != 1 || operand.dim(0) != t.dim(3))) {
        return InvalidArgument("mean, variance, beta and gamma must have ", t.dim(3),
                               " elements, got shape ", operand.shape());
      }
      ASSIGN_OR_RETURN(norm.ranges[i], LegacyRange(ctx, 3 * i + 1, "input"));
      norm.levels[i] = static_cast<const uint8_t*>(operand.raw_data());
    }
    SetRange(ctx, 1, compute::kBatchNormRange);
    ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, DType::kQint32, t.shape()));
    return compute::BatchNormLevels(ctx.work(), t.num_elements(), norm,
                                    static_cast<int32_t*>(y->mutable_raw_data()));
  }

 private:
  float epsilon_ = 0;
  bool scale_ = false;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(quantized_norm, cpu) {
  registry.Add<InstanceNormCpu>("QuantizedInstanceNorm", kCpu, {{"T", DType::kQuint8}});
  registry.Add<BatchNormCpu>("QuantizedBatchNormWithGlobalNormalization", kCpu,
                             {{"Tinput", DType::kQuint8}, {"out_type", DType::kQint32}});
}
