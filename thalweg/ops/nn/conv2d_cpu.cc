// SPDX-License-Identifier: Apache-2.0
#include "thalweg/kernel/element_wise.h"
#include "thalweg/ops/nn/conv_kernel.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {

// The sizes of a convolution from the shapes of its input and filter.
Result<compute::Conv2DShape> ConvSizes(const WindowAttrs& attrs, const Shape& image,
                                       const Shape& filter) {
  if (image.rank() != 4) {
    return InvalidArgument("convolution input must be 4-dimensional: ", image);
  }
  if (filter.rank() != 4) {
    return InvalidArgument("convolution filter must be 4-dimensional: ", filter);
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

Shape ConvOutputShape(const compute::Conv2DShape& s) {
  if (s.channels_first) return Shape{s.batch, s.out_channels, s.rows.output, s.columns.output};
  return Shape{s.batch, s.rows.output, s.columns.output, s.out_channels};
}

const float* SessionFilterCache::Find(std::string_view format) {
  packed_ = weight_.Find(Sources(), format);
  return packed_.empty() ? nullptr : packed_.data<float>();
}

float* SessionFilterCache::Allocate(int64_t floats) {
  Result<Tensor> made = Tensor::Allocate(ctx_.allocator(), DType::kFloat, Shape{floats});
  if (!made.ok()) return nullptr;
  packed_ = *std::move(made);
  return packed_.mutable_data<float>();
}

void SessionFilterCache::Keep(std::string_view format) { weight_.Keep(Sources(), format, packed_); }

PackedWeightRef::Sources SessionFilterCache::Sources() const {
  size_t n = 0;
  while (n < made_of_.size() && made_of_[n] != nullptr) ++n;
  return {made_of_.data(), n};
}

Status ConvKernel::Read(const KernelConstruction& c) {
  ASSIGN_OR_RETURN(attrs_, ParseWindowAttrs(c, true, true));
  if (c.node().FindAttr("_weight") == nullptr) return OkStatus();
  ASSIGN_OR_RETURN(const std::string weight, c.Attr<std::string>("_weight"));
  return weight_.Open(c.resources(), weight);
}

namespace {

// `of`: what TensorFlow calls the kernel.
Status CheckGrad(const compute::Conv2DShape& sizes, const ImageFormat& format, const Tensor& grad,
                 std::string_view of) {
  const Shape output = ConvOutputShape(sizes);
  if (grad.shape() == output) return OkStatus();
  for (const bool down : {true, false}) {
    const int dim = down ? format.rows() : format.columns();
    if (grad.rank() != 4 || grad.dim(dim) == output.dim(dim)) continue;
    const compute::Window& w = down ? sizes.rows : sizes.columns;
    return InvalidArgument(
        of, ": Size of out_backprop doesn't match computed: actual = ", grad.dim(dim),
        ", computed = ", w.output, " spatial_dim: ", dim, " input: ", w.input, " filter: ", w.size,
        " output: ", grad.dim(dim), " stride: ", w.stride, " dilation: ", w.dilation);
  }
  return InvalidArgument(of, ": out_backprop must have the shape of the output, ",
                         output.ToString(), ", got ", grad.shape());
}

class Conv2DCpu : public ConvKernel {
  Status Compute(Context& ctx) override {
    const Tensor &image = ctx.input(0), &filter = ctx.input(1);
    ASSIGN_OR_RETURN(const auto sizes, ConvSizes(attrs_, image.shape(), filter.shape()));
    ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, image.dtype(), ConvOutputShape(sizes)));
    SessionFilterCache kept(weight_, ctx, {&filter});
    return compute::Conv2D(ctx.work(), image.dtype(), sizes, image.raw_data(),
                           {filter.raw_data(), nullptr, KeeperOf(kept)}, y->mutable_raw_data(), {},
                           &plans_);
  }
};

class Conv2DBackpropInputCpu : public ConvKernel {
  Status Compute(Context& ctx) override {
    const Tensor &filter = ctx.input(1), &grad = ctx.input(2);
    ASSIGN_OR_RETURN(Shape image, ShapeOf(ctx.input(0), "input_sizes"));
    if (image.rank() == 2 && filter.rank() == 4 && grad.rank() == 4) {
      const int64_t rows = image.dim(0), columns = image.dim(1), in = filter.dim(2);
      image = attrs_.format.channels_first ? Shape{grad.dim(0), in, rows, columns}
                                           : Shape{grad.dim(0), rows, columns, in};
    }
    ASSIGN_OR_RETURN(const auto sizes, ConvSizes(attrs_, image, filter.shape()));
    RETURN_IF_ERROR(CheckGrad(sizes, attrs_.format, grad, "Conv2DCustomBackpropInput"));
    ASSIGN_OR_RETURN(Tensor * dx, ctx.AllocateOutput(0, grad.dtype(), image));
    SessionFilterCache kept(weight_, ctx, {&filter});
    return compute::Conv2DBackwardInput(ctx.work(), grad.dtype(), sizes,
                                        {filter.raw_data(), nullptr, KeeperOf(kept)},
                                        grad.raw_data(), dx->mutable_raw_data(), &plans_);
  }
};

class Conv2DBackpropFilterCpu : public ConvKernel {
  Status Compute(Context& ctx) override {
    const Tensor &image = ctx.input(0), &grad = ctx.input(2);
    ASSIGN_OR_RETURN(const Shape filter, ShapeOf(ctx.input(1), "filter_sizes"));
    ASSIGN_OR_RETURN(const auto sizes, ConvSizes(attrs_, image.shape(), filter));
    RETURN_IF_ERROR(CheckGrad(sizes, attrs_.format, grad, "Conv2DCustomBackpropFilter"));
    ASSIGN_OR_RETURN(Tensor * df, ctx.AllocateOutput(0, grad.dtype(), filter));
    return compute::Conv2DBackwardFilter(ctx.work(), grad.dtype(), sizes, image.raw_data(),
                                         grad.raw_data(), df->mutable_raw_data(), &plans_);
  }
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(conv2d, cpu) {
  const auto add = [&](DType dtype) {
    registry.Add<MadeConv<Conv2DCpu>>("Conv2D", kCpu, {{"T", dtype}}).Cost(KernelCost::kExpensive);
    registry.Add<MadeConv<Conv2DBackpropInputCpu>>("Conv2DBackpropInput", kCpu, {{"T", dtype}})
        .Cost(KernelCost::kExpensive);
  };
  for (DType dtype : kFloats) {
    add(dtype);
    registry.Add<MadeConv<Conv2DBackpropFilterCpu>>("Conv2DBackpropFilter", kCpu, {{"T", dtype}})
        .Cost(KernelCost::kExpensive);
  }
  add(DType::kInt32);
}
