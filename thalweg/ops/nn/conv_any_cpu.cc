// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/conv/conv2d.h"
#include "thalweg/compute/conv/conv_nd.h"
#include "thalweg/kernel/element_wise.h"
#include "thalweg/ops/nn/conv_any_attrs.h"
#include "thalweg/ops/nn/slide_kernel.h"

namespace thalweg {
namespace {

class ConvAnyCpu : public Kernel {
 public:
  explicit ConvAnyCpu(ConvAny conv) : conv_(std::move(conv)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(ConvAny conv, ParseConvAny(c));
    return std::unique_ptr<Kernel>(std::make_unique<ConvAnyCpu>(std::move(conv)));
  }

  Status Compute(Context& ctx) override {
    const Tensor &image = ctx.input(0), &filter = ctx.input(1);
    Slide slide = conv_.slide;
    if (filter.rank() != 4 && filter.rank() != 5) {
      return InvalidArgument("The filter must be rank 4 or 5 but got ", filter.rank());
    }
    if (image.rank() != conv_.input_rank() || filter.rank() != slide.format.rank) {
      return InvalidArgument("input and filter must have ", conv_.input_rank(), " and ",
                             slide.format.rank, " dimensions, got ", image.shape(), " and ",
                             filter.shape());
    }
    const int extra = static_cast<int>(conv_.batch_dims) - 1, spatial = conv_.spatial();
    Dims one{1};  // the image with one batch dimension
    for (int i = 0; i < image.rank(); ++i) {
      if (i <= extra) {
        one[0] *= image.dim(i);
      } else {
        one.push_back(image.dim(i));
      }
    }
    const int64_t in = one[slide.format.channels()], out = filter.dim(spatial + 1);
    if (in != filter.dim(spatial)) {
      return InvalidArgument("the input has ", in, " channels, the filter expects ",
                             filter.dim(spatial));
    }
    RETURN_IF_ERROR(SetWindow(PartialShape(filter.shape()), &slide));
    ASSIGN_OR_RETURN(const auto windows, MakeWindows(slide, Shape(one)));
    const Shape flat = SlidOutput(slide.format, one[0], out, windows);
    Dims dims;
    for (int i = 0; i < extra; ++i) dims.push_back(image.dim(i));
    dims.push_back(image.dim(extra));
    for (int i = 1; i < flat.rank(); ++i) dims.push_back(flat.dim(i));
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, image.dtype(), shape));
    if (spatial == 2) {
      const compute::Conv2DShape sizes{one[0], windows[1], windows[2],
                                       in,     out,        slide.format.channels_first};
      return compute::Conv2D(ctx.work(), image.dtype(), sizes, image.raw_data(), filter.raw_data(),
                             y->mutable_raw_data(), {}, &plans_);
    }
    if (slide.format.channels_first) {
      return Unimplemented("Conv over three dimensions with CHANNELS_FIRST; Conv3D has it");
    }
    const compute::ConvNdShape sizes{one[0], windows, in, out};
    return compute::ConvNd(ctx.work(), image.dtype(), sizes, image.raw_data(), filter.raw_data(),
                           y->mutable_raw_data(), &plans_);
  }

 private:
  const ConvAny conv_;
  compute::ConvPlans plans_;  // locks for itself
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(conv_any, cpu) {
  for (DType dtype :
       {DType::kFloat, DType::kDouble, DType::kHalf, DType::kBfloat16, DType::kInt32}) {
    registry.Add<ConvAnyCpu>("Conv", kCpu, {{"T", dtype}}).Cost(KernelCost::kExpensive);
  }
}
