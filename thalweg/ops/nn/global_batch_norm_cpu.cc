// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/norm/global_norm.h"
#include "thalweg/kernel/kernel_registry.h"

namespace thalweg {
namespace {

class NormKernel : public Kernel {
 public:
  Status Read(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(epsilon_, c.Attr<float>("variance_epsilon"));
    ASSIGN_OR_RETURN(scale_, c.Attr<bool>("scale_after_normalization"));
    return OkStatus();
  }

 protected:
  // Inputs 0 to 2 are the image, mean and variance; gamma's place differs.
  Result<compute::GlobalNormInputs> InputsOf(Context& ctx, int vectors, int gamma) const {
    const Tensor& x = ctx.input(0);
    if (x.rank() != 4) return InvalidArgument("the image must have 4 dimensions, got ", x.shape());
    const int64_t channels = x.dim(3);
    for (int i = 1; i <= vectors; ++i) {
      const Tensor& v = ctx.input(i);
      if (v.rank() == 1 && v.dim(0) == channels) continue;
      return InvalidArgument("input ", i, " must have one element per channel, ", channels,
                             ", got shape ", v.shape());
    }
    return compute::GlobalNormInputs{.rows = channels == 0 ? 0 : x.num_elements() / channels,
                                     .channels = channels,
                                     .x = x.raw_data(),
                                     .mean = ctx.input(1).raw_data(),
                                     .variance = ctx.input(2).raw_data(),
                                     .gamma = scale_ ? ctx.input(gamma).raw_data() : nullptr,
                                     .epsilon = epsilon_};
  }
  float epsilon_ = 0;
  bool scale_ = true;
};

class NormCpu : public NormKernel {
  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const auto in, InputsOf(ctx, 4, 4));
    const Tensor& x = ctx.input(0);
    ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, x.dtype(), x.shape()));
    return compute::GlobalNorm(ctx.work(), x.dtype(), in, ctx.input(3).raw_data(),
                               y->mutable_raw_data());
  }
};

class NormGradCpu : public NormKernel {
  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const auto in, InputsOf(ctx, 3, 3));
    const Tensor &x = ctx.input(0), &dy = ctx.input(4);
    if (dy.shape() != x.shape()) {
      return InvalidArgument("backprop must have the shape of the image, ", x.shape(), ", got ",
                             dy.shape());
    }
    void* out[5];
    for (int i = 0; i < 5; ++i) {
      const Shape shape = i == 0 ? x.shape() : Shape{in.channels};
      ASSIGN_OR_RETURN(Tensor * t, ctx.AllocateOutput(i, x.dtype(), shape));
      out[i] = t->mutable_raw_data();
    }
    return compute::GlobalNormGrad(ctx.work(), x.dtype(), in, dy.raw_data(),
                                   {out[0], out[1], out[2], out[3], out[4]});
  }
};

template <class K>
struct MadeGlobalNorm : K {
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<MadeGlobalNorm<K>>();
    RETURN_IF_ERROR(kernel->Read(c));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(global_batch_norm, cpu) {
  for (DType dtype : {DType::kFloat, DType::kDouble, DType::kHalf}) {
    registry.Add<MadeGlobalNorm<NormCpu>>("BatchNormWithGlobalNormalization", kCpu, {{"T", dtype}});
    registry.Add<MadeGlobalNorm<NormGradCpu>>("BatchNormWithGlobalNormalizationGrad", kCpu,
                                              {{"T", dtype}});
  }
}
