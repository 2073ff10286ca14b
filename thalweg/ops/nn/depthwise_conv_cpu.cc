// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/conv/depthwise.h"
#include "thalweg/kernel/element_wise.h"
#include "thalweg/ops/nn/conv_attrs.h"
#include "thalweg/ops/nn/slide_kernel.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

struct DepthwiseSizes {
  compute::DepthwiseShape conv;
  Shape output;
};

class DepthwiseKernel : public Kernel {
 public:
  explicit DepthwiseKernel(Slide slide) : slide_(std::move(slide)) {}

 protected:
  Result<DepthwiseSizes> SizesOf(const Shape& image, const Shape& filter) const {
    if (image.rank() != 4 || filter.rank() != 4) {
      return InvalidArgument("input and filter must have 4 dimensions, got ", image.ToString(),
                             " and ", filter.ToString());
    }
    const int64_t in = image.dim(slide_.format.channels());
    if (in != filter.dim(2)) {
      return InvalidArgument("input and filter must have the same depth: ", in, " vs ",
                             filter.dim(2), " channels");
    }
    Slide slide = slide_;
    RETURN_IF_ERROR(SetWindow(filter, &slide));
    ASSIGN_OR_RETURN(const auto windows, MakeWindows(slide, image));
    int64_t out = 0;
    if (__builtin_mul_overflow(in, filter.dim(3), &out)) {
      return InvalidArgument("too many output channels: ", in, " times ", filter.dim(3));
    }
    const Shape shape = SlidOutput(slide.format, image.dim(0), out, windows);
    RETURN_IF_ERROR(Shape::Make(shape.dims()).status());
    return DepthwiseSizes{{image.dim(0), windows[1], windows[2], in, filter.dim(3)}, shape};
  }
  static Status CheckGrad(const DepthwiseSizes& sizes, const Tensor& grad) {
    if (grad.shape() == sizes.output) return OkStatus();
    return InvalidArgument("out_backprop must have the shape of the output, ",
                           sizes.output.ToString(), ", got ", grad.shape());
  }

  const Slide slide_;
};

template <class K>
struct MadeDepthwise : K {
  using K::K;
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(Slide slide, ParseConv(c, 4));
    return std::unique_ptr<Kernel>(std::make_unique<MadeDepthwise<K>>(std::move(slide)));
  }
};

class DepthwiseCpu : public DepthwiseKernel {
 public:
  using DepthwiseKernel::DepthwiseKernel;

 private:
  Status Compute(Context& ctx) override {
    const Tensor &image = ctx.input(0), &filter = ctx.input(1);
    ASSIGN_OR_RETURN(const DepthwiseSizes sizes, SizesOf(image.shape(), filter.shape()));
    ASSIGN_OR_RETURN(const Tensor last, ChannelsLast(ctx, slide_.format, image));
    return WriteOutput(ctx, slide_.format, 0, image.dtype(), sizes.output, [&](void* y) {
      return compute::Depthwise(ctx.work(), image.dtype(), sizes.conv, last.raw_data(),
                                filter.raw_data(), y);
    });
  }
};

class DepthwiseBackpropInputCpu : public DepthwiseKernel {
 public:
  using DepthwiseKernel::DepthwiseKernel;

 private:
  Status Compute(Context& ctx) override {
    const Tensor &filter = ctx.input(1), &grad = ctx.input(2);
    ASSIGN_OR_RETURN(const Shape image, ShapeOf(ctx.input(0), "input_sizes"));
    ASSIGN_OR_RETURN(const DepthwiseSizes sizes, SizesOf(image, filter.shape()));
    RETURN_IF_ERROR(CheckGrad(sizes, grad));
    ASSIGN_OR_RETURN(const Tensor last, ChannelsLast(ctx, slide_.format, grad));
    return WriteOutput(ctx, slide_.format, 0, grad.dtype(), image, [&](void* dx) {
      return compute::DepthwiseBackwardInput(ctx.work(), grad.dtype(), sizes.conv,
                                             filter.raw_data(), last.raw_data(), dx);
    });
  }
};

class DepthwiseBackpropFilterCpu : public DepthwiseKernel {
 public:
  using DepthwiseKernel::DepthwiseKernel;

 private:
  Status Compute(Context& ctx) override {
    const Tensor &image = ctx.input(0), &grad = ctx.input(2);
    ASSIGN_OR_RETURN(const Shape filter, ShapeOf(ctx.input(1), "filter_sizes"));
    ASSIGN_OR_RETURN(const DepthwiseSizes sizes, SizesOf(image.shape(), filter));
    RETURN_IF_ERROR(CheckGrad(sizes, grad));
    ASSIGN_OR_RETURN(const Tensor image_last, ChannelsLast(ctx, slide_.format, image));
    ASSIGN_OR_RETURN(const Tensor grad_last, ChannelsLast(ctx, slide_.format, grad));
    ASSIGN_OR_RETURN(Tensor * df, ctx.AllocateOutput(0, grad.dtype(), filter));
    return compute::DepthwiseBackwardFilter(ctx.work(), grad.dtype(), sizes.conv,
                                            image_last.raw_data(), grad_last.raw_data(),
                                            df->mutable_raw_data());
  }
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(depthwise_conv, cpu) {
  for (DType dtype : kFloats) {
    registry.Add<MadeDepthwise<DepthwiseCpu>>("DepthwiseConv2dNative", kCpu, {{"T", dtype}})
        .Cost(KernelCost::kExpensive);
    registry
        .Add<MadeDepthwise<DepthwiseBackpropInputCpu>>("DepthwiseConv2dNativeBackpropInput", kCpu,
                                                       {{"T", dtype}})
        .Cost(KernelCost::kExpensive);
    registry
        .Add<MadeDepthwise<DepthwiseBackpropFilterCpu>>("DepthwiseConv2dNativeBackpropFilter", kCpu,
                                                        {{"T", dtype}})
        .Cost(KernelCost::kExpensive);
  }
}
