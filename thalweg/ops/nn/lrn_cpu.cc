// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/norm/lrn.h"
#include "thalweg/graph/narrow_attr.h"
#include "thalweg/kernel/kernel_registry.h"

namespace thalweg {
namespace {

class LrnKernel : public Kernel {
 public:
  Status Read(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(options_.radius, Int32Attr(c, "depth_radius"));
    ASSIGN_OR_RETURN(options_.bias, c.Attr<float>("bias"));
    ASSIGN_OR_RETURN(options_.alpha, c.Attr<float>("alpha"));
    ASSIGN_OR_RETURN(options_.beta, c.Attr<float>("beta"));
    if (options_.radius >= 0) return OkStatus();
    return InvalidArgument("depth_radius must not be negative, got ", options_.radius);
  }

 protected:
  static Status CheckRank(const Tensor& x) {
    if (x.rank() == 4) return OkStatus();
    return InvalidArgument("in must be 4-dimensional; its shape is ", x.shape());
  }
  static int64_t Rows(const Tensor& x) { return x.dim(3) == 0 ? 0 : x.num_elements() / x.dim(3); }
  compute::LrnOptions options_;
};

class LrnCpu : public LrnKernel {
  Status Compute(Context& ctx) override {
    const Tensor& x = ctx.input(0);
    RETURN_IF_ERROR(CheckRank(x));
    ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, x.dtype(), x.shape()));
    return compute::Lrn(ctx.work(), x.dtype(), Rows(x), x.dim(3), options_, x.raw_data(),
                        y->mutable_raw_data());
  }
};

class LrnGradCpu : public LrnKernel {
  Status Compute(Context& ctx) override {
    const Tensor &dy = ctx.input(0), &x = ctx.input(1), &y = ctx.input(2);
    RETURN_IF_ERROR(CheckRank(x));
    if (dy.shape() != x.shape() || y.shape() != x.shape()) {
      return InvalidArgument("input_grads, input_image and output_image must have one shape, got ",
                             dy.shape(), ", ", x.shape(), " and ", y.shape());
    }
    ASSIGN_OR_RETURN(Tensor * dx, ctx.AllocateOutput(0, x.dtype(), x.shape()));
    return compute::LrnGrad(ctx.work(), x.dtype(), Rows(x), x.dim(3), options_, dy.raw_data(),
                            x.raw_data(), y.raw_data(), dx->mutable_raw_data());
  }
};

template <class K>
struct MadeLrn : K {
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<MadeLrn<K>>();
    RETURN_IF_ERROR(kernel->Read(c));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(lrn, cpu) {
  for (DType dtype : {DType::kFloat, DType::kHalf}) {
    registry.Add<MadeLrn<LrnCpu>>("LRN", kCpu, {{"T", dtype}});
    registry.Add<MadeLrn<LrnGradCpu>>("LRNGrad", kCpu, {{"T", dtype}});
  }
}
