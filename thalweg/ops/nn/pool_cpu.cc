// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/move/gather.h"
#include "thalweg/compute/move/strided_copy.h"
#include "thalweg/compute/pool/pool2d.h"
#include "thalweg/kernel/element_wise.h"
#include "thalweg/ops/nn/window_kernel.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

// What all kernels here read from the node, and the sizes for one image shape.
class PoolKernel : public Kernel {
 public:
  Status Read(const KernelConstruction& c) {
    const bool has_explicit = c.node().FindAttr("explicit_paddings") != nullptr;
    ASSIGN_OR_RETURN(attrs_, ParseWindowAttrs(c, false, has_explicit));
    ASSIGN_OR_RETURN(const auto ksize, c.Attr<std::vector<int64_t>>("ksize"));
    ASSIGN_OR_RETURN(window_, ParsePerDimension(ksize, attrs_.format, "ksize"));
    return OkStatus();
  }

 protected:
  Result<compute::Pool2DShape> SizesOf(const Shape& image) const {
    if (image.rank() != 4) {
      return InvalidArgument("the image must have 4 dimensions, got ", image.ToString());
    }
    compute::Pool2DShape sizes;
    sizes.batch = image.dim(0);
    sizes.channels = image.dim(attrs_.format.channels());
    ASSIGN_OR_RETURN(const Windows windows, MakeWindows(attrs_, image, window_));
    sizes.rows = windows.rows;
    sizes.columns = windows.columns;
    return sizes;
  }

  Shape OutputShape(const compute::Pool2DShape& s) const {
    if (attrs_.format.channels_first) {
      return Shape{s.batch, s.channels, s.rows.output, s.columns.output};
    }
    return Shape{s.batch, s.rows.output, s.columns.output, s.channels};
  }

  Status CheckOutputShape(const compute::Pool2DShape& sizes, const Tensor& tensor,
                          const char* what) const {
    if (tensor.shape() == OutputShape(sizes)) return OkStatus();
    return InvalidArgument(what, " must have the shape of the output, ",
                           OutputShape(sizes).ToString(), ", got ", tensor.shape());
  }

  // The tensor with channels last; a copy when they are first.
  Result<Tensor> ChannelsLast(Context& ctx, const Tensor& t) const {
    if (!attrs_.format.channels_first) return t;
    const int64_t n = t.dim(0), c = t.dim(1), h = t.dim(2), w = t.dim(3);
    ASSIGN_OR_RETURN(Tensor copy, ctx.AllocateTemporary(t.dtype(), Shape{n, h, w, c}));
    RETURN_IF_ERROR(compute::CopyStrided(ctx.work(), t.dtype(), Dims{n, h, w, c},
                                         {t.raw_data(), Dims{c * h * w, w, 1, h * w}},
                                         {copy.mutable_raw_data(), Dims{h * w * c, w * c, c, 1}}));
    return copy;
  }

  // Runs `fill(data)`, which writes channels last, into output 0 of `shape` in the node's format.
  template <class F>
  Status WriteOutput(Context& ctx, DType dtype, const Shape& shape, F&& fill) const {
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, dtype, shape));
    if (!attrs_.format.channels_first) return fill(out->mutable_raw_data());
    const int64_t n = shape.dim(0), c = shape.dim(1), h = shape.dim(2), w = shape.dim(3);
    ASSIGN_OR_RETURN(Tensor last, ctx.AllocateTemporary(dtype, Shape{n, h, w, c}));
    RETURN_IF_ERROR(fill(last.mutable_raw_data()));
    return compute::CopyStrided(ctx.work(), dtype, Dims{n, c, h, w},
                                {last.raw_data(), Dims{h * w * c, 1, w * c, c}},
                                {out->mutable_raw_data(), Dims{c * h * w, h * w, w, 1}});
  }

  WindowAttrs attrs_;
  PerDimension window_;
};

template <class K>
struct Made : K {
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<Made<K>>();
    RETURN_IF_ERROR(kernel->Read(c));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }
};

using PoolFn = Status (*)(compute::Work&, DType, const compute::Pool2DShape&, const void*, void*);

template <PoolFn F>
class PoolCpu : public PoolKernel {
  Status Compute(Context& ctx) override {
    const Tensor& image = ctx.input(0);
    const DType dtype = image.dtype();
    ASSIGN_OR_RETURN(const auto sizes, SizesOf(image.shape()));
    ASSIGN_OR_RETURN(const Tensor last, ChannelsLast(ctx, image));
    return WriteOutput(ctx, dtype, OutputShape(sizes), [&](void* out) {
      return F(ctx.work(), dtype, sizes, last.raw_data(), out);
    });
  }
};

class MaxPoolGradCpu : public PoolKernel {
  Status Compute(Context& ctx) override {
    const Tensor &image = ctx.input(0), &grad = ctx.input(2);
    const DType dtype = image.dtype();
    ASSIGN_OR_RETURN(const auto sizes, SizesOf(image.shape()));
    RETURN_IF_ERROR(CheckOutputShape(sizes, ctx.input(1), "orig_output"));
    RETURN_IF_ERROR(CheckOutputShape(sizes, grad, "grad"));
    ASSIGN_OR_RETURN(const Tensor image_last, ChannelsLast(ctx, image));
    ASSIGN_OR_RETURN(const Tensor grad_last, ChannelsLast(ctx, grad));
    return WriteOutput(ctx, dtype, image.shape(), [&](void* out) {
      return compute::MaxPoolGrad(ctx.work(), dtype, sizes, image_last.raw_data(),
                                  grad_last.raw_data(), out);
    });
  }
};

// The elements of grad, which has the shape of the image, at the places of the largest elements.
class MaxPoolGradGradCpu : public PoolKernel {
  Status Compute(Context& ctx) override {
    const Tensor &image = ctx.input(0), &grad = ctx.input(2);
    const DType dtype = image.dtype();
    ASSIGN_OR_RETURN(const auto sizes, SizesOf(image.shape()));
    RETURN_IF_ERROR(CheckOutputShape(sizes, ctx.input(1), "orig_output"));
    if (grad.shape() != image.shape()) {
      return InvalidArgument("grad must have the shape of orig_input, ", image.shape(), ", got ",
                             grad.shape());
    }
    ASSIGN_OR_RETURN(const Tensor image_last, ChannelsLast(ctx, image));
    ASSIGN_OR_RETURN(const Tensor grad_last, ChannelsLast(ctx, grad));
    const Shape out_shape = OutputShape(sizes);
    ASSIGN_OR_RETURN(Tensor places, ctx.AllocateTemporary(DType::kInt64, out_shape));
    RETURN_IF_ERROR(compute::MaxPoolPlaces(ctx.work(), dtype, sizes, true, image_last.raw_data(),
                                           nullptr, places.mutable_data<int64_t>()));
    return WriteOutput(ctx, dtype, out_shape, [&](void* out) {
      const compute::GatherShape gather{.rows = image.num_elements(),
                                        .count = out_shape.num_elements()};
      return compute::GatherRows(ctx.work(), dtype, gather, grad_last.raw_data(),
                                 places.data<int64_t>(), out);
    });
  }
};

class AvgPoolGradCpu : public PoolKernel {
  Status Compute(Context& ctx) override {
    const Tensor& grad = ctx.input(1);
    const DType dtype = grad.dtype();
    ASSIGN_OR_RETURN(const Shape image, ShapeOf(ctx.input(0), "orig_input_shape"));
    ASSIGN_OR_RETURN(const auto sizes, SizesOf(image));
    RETURN_IF_ERROR(CheckOutputShape(sizes, grad, "grad"));
    ASSIGN_OR_RETURN(const Tensor grad_last, ChannelsLast(ctx, grad));
    return WriteOutput(ctx, dtype, image, [&](void* out) {
      return compute::AvgPoolGrad(ctx.work(), dtype, sizes, grad_last.raw_data(), out);
    });
  }
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(pool, cpu) {
  for (DType dtype : kReals) {
    // The schema of MaxPool knows no unsigned numbers of 32 and 64 bits.
    if (dtype != DType::kUint32 && dtype != DType::kUint64) {
      registry.Add<Made<PoolCpu<compute::MaxPool>>>("MaxPool", kCpu, {{"T", dtype}});
    }
    registry.Add<Made<MaxPoolGradCpu>>("MaxPoolGrad", kCpu, {{"T", dtype}});
    registry.Add<Made<MaxPoolGradGradCpu>>("MaxPoolGradGrad", kCpu, {{"T", dtype}});
  }
  for (DType dtype : kFloats) {
    registry.Add<Made<PoolCpu<compute::AvgPool>>>("AvgPool", kCpu, {{"T", dtype}});
    registry.Add<Made<AvgPoolGradCpu>>("AvgPoolGrad", kCpu, {{"T", dtype}});
  }
}
