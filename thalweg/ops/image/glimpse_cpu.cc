// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/image/glimpse.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

using compute::GlimpseNoise;

template <bool kSecond>
class ExtractGlimpse : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<ExtractGlimpse>();
    RETURN_IF_ERROR(kernel->Read(c));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(Context& ctx) override {
    const Tensor &images = ctx.input(0), &offsets = ctx.input(2);
    if (images.rank() != 4) {
      return InvalidArgument("input must be 4-dimensional, got shape ", images.shape());
    }
    ASSIGN_OR_RETURN(const Dims size, IntVector(ctx.input(1), "size"));
    if (size.size() != 2) {
      return InvalidArgument("size must have two elements, got shape ", ctx.input(1).shape());
    }
    if (offsets.shape() != Shape{images.dim(0), 2}) {
      return InvalidArgument("offsets must be [", images.dim(0), ",2], got shape ",
                             offsets.shape());
    }
    ASSIGN_OR_RETURN(const Shape out,
                     Shape::Make(Dims{images.dim(0), size[0], size[1], images.dim(3)}));
    ASSIGN_OR_RETURN(Tensor * windows, ctx.AllocateOutput(0, DType::kFloat, out));
    if (windows->num_elements() == 0) return OkStatus();
    compute::GlimpseShape shape = rules_;
    shape.batch = images.dim(0);
    shape.rows = images.dim(1);
    shape.columns = images.dim(2);
    shape.channels = images.dim(3);
    shape.out_rows = size[0];
    shape.out_columns = size[1];
    return compute::Glimpses(ctx.work(), shape, offsets.data<float>(), noise_, images.data<float>(),
                             windows->mutable_data<float>());
  }

 private:
  Status Read(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(rules_.centered, c.Attr<bool>("centered"));
    ASSIGN_OR_RETURN(rules_.normalized, c.Attr<bool>("normalized"));
    ASSIGN_OR_RETURN(const bool uniform, c.Attr<bool>("uniform_noise"));
    ASSIGN_OR_RETURN(const std::string noise, c.Attr<std::string>("noise"));
    rules_.second = kSecond;
    if (uniform && noise != "uniform") {
      return InvalidArgument("The uniform_noise and noise could not be specified at the same time");
    }
    if (noise == "uniform") {
      noise_ = GlimpseNoise::kUniform;
    } else if (noise == "gaussian") {
      noise_ = GlimpseNoise::kGaussian;
    } else if (noise == "zero") {
      noise_ = GlimpseNoise::kZero;
    } else {
      return InvalidArgument("The noise could only be uniform, gaussian, or zero, got ", noise);
    }
    return OkStatus();
  }

  compute::GlimpseShape rules_;
  GlimpseNoise noise_ = GlimpseNoise::kUniform;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(glimpse, cpu) {
  registry.Add<ExtractGlimpse<false>>("ExtractGlimpse", kCpu);
  registry.Add<ExtractGlimpse<true>>("ExtractGlimpseV2", kCpu);
}
