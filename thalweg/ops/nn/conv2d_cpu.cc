// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/conv/conv2d.h"
#include "thalweg/kernel/element_wise.h"
#include "thalweg/ops/nn/window_kernel.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

// The sizes of a convolution from the shapes of its input and filter.
Result<compute::Conv2DShape> SizesOf(const WindowAttrs& attrs, const Shape& image,
                                     const Shape& filter) {
  if (image.rank() != 4 || filter.rank() != 4) {
    return InvalidArgument("input and filter must have 4 dimensions, got ", image.ToString(),
                           " and ", filter.ToString());
  }
  const int64_t in = image.dim(attrs.format.channels());
  ASSIGN_OR_RETURN(const int64_t groups, GroupsOf(in, filter.dim(2), filter.dim(3)));
  compute::Conv2DShape sizes;
  sizes.groups = groups;
  sizes.batch = image.dim(0);
  sizes.in_channels = in;
  sizes.out_channels = filter.dim(3);
  sizes.channels_first = attrs.format.channels_first;
  ASSIGN_OR_RETURN(const Windows windows,
                   MakeWindows(attrs, image, {filter.dim(0), filter.dim(1)}));
  sizes.rows = windows.rows;
  sizes.columns = windows.columns;
  return sizes;
}

Shape OutputShape(const compute::Conv2DShape& s) {
  if (s.channels_first) return Shape{s.batch, s.out_channels, s.rows.output, s.columns.output};
  return Shape{s.batch, s.rows.output, s.columns.output, s.out_channels};
}

Status CheckGrad(const compute::Conv2DShape& sizes, const Tensor& grad) {
  if (grad.shape() == OutputShape(sizes)) return OkStatus();
  return InvalidArgument("out_backprop must have the shape of the output, ",
                         OutputShape(sizes).ToString(), ", got ", grad.shape());
}

class ConvKernel : public Kernel {
 public:
  explicit ConvKernel(WindowAttrs attrs) : attrs_(std::move(attrs)) {}

 protected:
  const WindowAttrs attrs_;
  compute::ConvPlans plans_;  // locks for itself
};

template <class K>
Result<std::unique_ptr<Kernel>> MakeConv(const KernelConstruction& c) {
  ASSIGN_OR_RETURN(WindowAttrs attrs, ParseWindowAttrs(c, true, true));
  return std::unique_ptr<Kernel>(std::make_unique<K>(std::move(attrs)));
}

class Conv2DCpu : public ConvKernel {
 public:
  using ConvKernel::ConvKernel;
  static auto Create(const KernelConstruction& c) { return MakeConv<Conv2DCpu>(c); }

  Status Compute(Context& ctx) override {
    const Tensor &image = ctx.input(0), &filter = ctx.input(1);
    ASSIGN_OR_RETURN(const auto sizes, SizesOf(attrs_, image.shape(), filter.shape()));
    ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, image.dtype(), OutputShape(sizes)));
    return compute::Conv2D(ctx.work(), image.dtype(), sizes, image.raw_data(), filter.raw_data(),
                           y->mutable_raw_data(), {}, &plans_);
  }
};

class Conv2DBackpropInputCpu : public ConvKernel {
 public:
  using ConvKernel::ConvKernel;
  static auto Create(const KernelConstruction& c) { return MakeConv<Conv2DBackpropInputCpu>(c); }

  Status Compute(Context& ctx) override {
    const Tensor &filter = ctx.input(1), &grad = ctx.input(2);
    ASSIGN_OR_RETURN(Shape image, ShapeOf(ctx.input(0), "input_sizes"));
    if (image.rank() == 2 && filter.rank() == 4 && grad.rank() == 4) {
      const int64_t rows = image.dim(0), columns = image.dim(1), in = filter.dim(2);
      image = attrs_.format.channels_first ? Shape{grad.dim(0), in, rows, columns}
                                           : Shape{grad.dim(0), rows, columns, in};
    }
    ASSIGN_OR_RETURN(const auto sizes, SizesOf(attrs_, image, filter.shape()));
    RETURN_IF_ERROR(CheckGrad(sizes, grad));
    ASSIGN_OR_RETURN(Tensor * dx, ctx.AllocateOutput(0, grad.dtype(), image));
    return compute::Conv2DBackwardInput(ctx.work(), grad.dtype(), sizes, filter.raw_data(),
                                        grad.raw_data(), dx->mutable_raw_data(), &plans_);
  }
};

class Conv2DBackpropFilterCpu : public ConvKernel {
 public:
  using ConvKernel::ConvKernel;
  static auto Create(const KernelConstruction& c) { return MakeConv<Conv2DBackpropFilterCpu>(c); }

  Status Compute(Context& ctx) override {
    const Tensor &image = ctx.input(0), &grad = ctx.input(2);
    ASSIGN_OR_RETURN(const Shape filter, ShapeOf(ctx.input(1), "filter_sizes"));
    ASSIGN_OR_RETURN(const auto sizes, SizesOf(attrs_, image.shape(), filter));
    RETURN_IF_ERROR(CheckGrad(sizes, grad));
    ASSIGN_OR_RETURN(Tensor * df, ctx.AllocateOutput(0, grad.dtype(), filter));
    return compute::Conv2DBackwardFilter(ctx.work(), grad.dtype(), sizes, image.raw_data(),
                                         grad.raw_data(), df->mutable_raw_data(), &plans_);
  }
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(conv2d, cpu) {
  const auto add = [&](DType dtype) {
    registry.Add<Conv2DCpu>("Conv2D", kCpu, {{"T", dtype}}).Cost(KernelCost::kExpensive);
    registry.Add<Conv2DBackpropInputCpu>("Conv2DBackpropInput", kCpu, {{"T", dtype}})
        .Cost(KernelCost::kExpensive);
  };
  for (DType dtype : kFloats) {
    add(dtype);
    registry.Add<Conv2DBackpropFilterCpu>("Conv2DBackpropFilter", kCpu, {{"T", dtype}})
        .Cost(KernelCost::kExpensive);
  }
  add(DType::kInt32);
}
