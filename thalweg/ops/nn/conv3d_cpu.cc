// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/conv/conv_nd.h"
#include "thalweg/kernel/element_wise.h"
#include "thalweg/ops/nn/conv_attrs.h"
#include "thalweg/ops/nn/slide_kernel.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

struct Sizes {
  compute::ConvNdShape conv;
  Shape output;
};

class Conv3DKernel : public Kernel {
 public:
  explicit Conv3DKernel(Slide slide) : slide_(std::move(slide)) {}

 protected:
  Result<Sizes> SizesOf(const Shape& volume, const Shape& filter) const {
    if (volume.rank() != 5 || filter.rank() != 5) {
      return InvalidArgument("input and filter must have 5 dimensions, got ", volume.ToString(),
                             " and ", filter.ToString());
    }
    const int64_t in = volume.dim(slide_.format.channels());
    if (in != filter.dim(3)) {
      return InvalidArgument("the input has ", in, " channels, the filter expects ", filter.dim(3));
    }
    Slide slide = slide_;
    RETURN_IF_ERROR(SetWindow(filter, &slide));
    Sizes sizes;
    ASSIGN_OR_RETURN(sizes.conv.windows, MakeWindows(slide, volume));
    sizes.conv.batch = volume.dim(0);
    sizes.conv.in_channels = in;
    sizes.conv.out_channels = filter.dim(4);
    sizes.output = SlidOutput(slide.format, volume.dim(0), filter.dim(4), sizes.conv.windows);
    return sizes;
  }
  static Status CheckGrad(const Sizes& sizes, const Tensor& grad) {
    if (grad.shape() == sizes.output) return OkStatus();
    return InvalidArgument("out_backprop must have the shape of the output, ",
                           sizes.output.ToString(), ", got ", grad.shape());
  }
  // The dimensions of input i: its own shape, or the sizes that it holds.
  static Result<Shape> ShapeFrom(const Tensor& t, bool holds_sizes) {
    if (holds_sizes) return ShapeOf(t, "the sizes");
    return t.shape();
  }

  const Slide slide_;
  compute::ConvPlans plans_;  // locks for itself
};

template <class K>
struct MadeConv3d : K {
  using K::K;
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(Slide slide, ParseConv(c, 5));
    return std::unique_ptr<Kernel>(std::make_unique<MadeConv3d<K>>(std::move(slide)));
  }
};

class Conv3DCpu : public Conv3DKernel {
 public:
  using Conv3DKernel::Conv3DKernel;

 private:
  Status Compute(Context& ctx) override {
    const Tensor &volume = ctx.input(0), &filter = ctx.input(1);
    ASSIGN_OR_RETURN(const Sizes sizes, SizesOf(volume.shape(), filter.shape()));
    ASSIGN_OR_RETURN(const Tensor last, ChannelsLast(ctx, slide_.format, volume));
    return WriteOutput(ctx, slide_.format, 0, volume.dtype(), sizes.output, [&](void* y) {
      return compute::ConvNd(ctx.work(), volume.dtype(), sizes.conv, last.raw_data(),
                             filter.raw_data(), y, &plans_);
    });
  }
};

template <bool HoldsSizes>
class BackpropInputCpu : public Conv3DKernel {
 public:
  using Conv3DKernel::Conv3DKernel;

 private:
  Status Compute(Context& ctx) override {
    const Tensor &filter = ctx.input(1), &grad = ctx.input(2);
    ASSIGN_OR_RETURN(const Shape volume, ShapeFrom(ctx.input(0), HoldsSizes));
    ASSIGN_OR_RETURN(const Sizes sizes, SizesOf(volume, filter.shape()));
    RETURN_IF_ERROR(CheckGrad(sizes, grad));
    ASSIGN_OR_RETURN(const Tensor last, ChannelsLast(ctx, slide_.format, grad));
    return WriteOutput(ctx, slide_.format, 0, grad.dtype(), volume, [&](void* dx) {
      return compute::ConvNdBackwardInput(ctx.work(), grad.dtype(), sizes.conv, filter.raw_data(),
                                          last.raw_data(), dx, &plans_);
    });
  }
};

template <bool HoldsSizes>
class BackpropFilterCpu : public Conv3DKernel {
 public:
  using Conv3DKernel::Conv3DKernel;

 private:
  Status Compute(Context& ctx) override {
    const Tensor &volume = ctx.input(0), &grad = ctx.input(2);
    if (HoldsSizes && ctx.input(1).rank() != 1) {
      return InvalidArgument("filter_sizes shape must be rank 1 but is rank ", ctx.input(1).rank());
    }
    ASSIGN_OR_RETURN(const Shape filter, ShapeFrom(ctx.input(1), HoldsSizes));
    ASSIGN_OR_RETURN(const Sizes sizes, SizesOf(volume.shape(), filter));
    RETURN_IF_ERROR(CheckGrad(sizes, grad));
    ASSIGN_OR_RETURN(const Tensor volume_last, ChannelsLast(ctx, slide_.format, volume));
    ASSIGN_OR_RETURN(const Tensor grad_last, ChannelsLast(ctx, slide_.format, grad));
    ASSIGN_OR_RETURN(Tensor * df, ctx.AllocateOutput(0, grad.dtype(), filter));
    return compute::ConvNdBackwardFilter(ctx.work(), grad.dtype(), sizes.conv,
                                         volume_last.raw_data(), grad_last.raw_data(),
                                         df->mutable_raw_data(), &plans_);
  }
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(conv3d, cpu) {
  constexpr KernelCost kCost = KernelCost::kExpensive;
  for (DType dtype : kFloats) {
    registry.Add<MadeConv3d<Conv3DCpu>>("Conv3D", kCpu, {{"T", dtype}}).Cost(kCost);
    for (DType sizes : {DType::kInt32, DType::kInt64}) {
      registry
          .Add<MadeConv3d<BackpropInputCpu<true>>>("Conv3DBackpropInputV2", kCpu,
                                                   {{"T", dtype}, {"Tshape", sizes}})
          .Cost(kCost);
    }
    registry
        .Add<MadeConv3d<BackpropFilterCpu<true>>>("Conv3DBackpropFilterV2", kCpu, {{"T", dtype}})
        .Cost(kCost);
  }
  for (DType dtype : {DType::kFloat, DType::kDouble, DType::kHalf}) {
    registry.Add<MadeConv3d<BackpropInputCpu<false>>>("Conv3DBackpropInput", kCpu, {{"T", dtype}})
        .Cost(kCost);
    registry.Add<MadeConv3d<BackpropFilterCpu<false>>>("Conv3DBackpropFilter", kCpu, {{"T", dtype}})
        .Cost(kCost);
  }
}
