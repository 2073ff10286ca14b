// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/image/resample.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

using compute::Taps;

struct TapPair {
  Taps rows, columns;
};

// What one dimension, of `in` pixels, becomes; `axis` is 0 for rows and 1 for columns.
class ResampleKernel : public Kernel {
 protected:
  virtual Result<Taps> TapsOf(Context& ctx, int axis, int64_t in, int64_t out) const = 0;

  Result<TapPair> Between(Context& ctx, const Shape& in, const Shape& out) const {
    if (in.dim(1) <= 0 || in.dim(2) <= 0 || out.dim(1) <= 0 || out.dim(2) <= 0 || in.dim(3) <= 0) {
      return InvalidArgument("images must be of non-zero size with at least one channel, got ", in,
                             " and ", out);
    }
    ASSIGN_OR_RETURN(Taps rows, TapsOf(ctx, 0, in.dim(1), out.dim(1)));
    ASSIGN_OR_RETURN(Taps columns, TapsOf(ctx, 1, in.dim(2), out.dim(2)));
    return TapPair{std::move(rows), std::move(columns)};
  }

  static Status CheckRank(const Tensor& images, std::string_view what) {
    if (images.rank() == 4) return OkStatus();
    return InvalidArgument(what, " must be 4-dimensional, got shape ", images.shape());
  }

  Status Forward(Context& ctx) const {
    const Tensor& x = ctx.input(0);
    RETURN_IF_ERROR(CheckRank(x, "images"));
    ASSIGN_OR_RETURN(const Dims size, IntVector(ctx.input(1), "size"));
    if (size.size() != 2) {
      return InvalidArgument("size must have two elements, got shape ", ctx.input(1).shape());
    }
    if (size[0] <= 0 || size[1] <= 0) {
      return InvalidArgument("output dimensions must be positive, got ", size[0], " and ", size[1]);
    }
    Dims dims = x.shape().dims();
    dims[1] = size[0];
    dims[2] = size[1];
    ASSIGN_OR_RETURN(const Shape to, Shape::Make(dims));
    ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, DType::kFloat, to));
    ASSIGN_OR_RETURN(const TapPair taps, Between(ctx, x.shape(), to));
    if (y->num_elements() == 0) return OkStatus();
    return compute::Resample(ctx.work(), x.dtype(), x.dim(0), x.dim(3), taps.rows, taps.columns,
                             x.raw_data(), y->mutable_data<float>());
  }

  Status Backward(Context& ctx) const {
    const Tensor &dy = ctx.input(0), &x = ctx.input(1);
    RETURN_IF_ERROR(CheckRank(dy, "grads"));
    RETURN_IF_ERROR(CheckRank(x, "original_image"));
    if (dy.dim(0) != x.dim(0) || dy.dim(3) != x.dim(3)) {
      return InvalidArgument("grads and original_image must agree in batch and channels, got ",
                             dy.shape(), " and ", x.shape());
    }
    ASSIGN_OR_RETURN(const TapPair taps, Between(ctx, x.shape(), dy.shape()));
    ASSIGN_OR_RETURN(Tensor * dx, ctx.AllocateOutput(0, x.dtype(), x.shape()));
    if (dx->num_elements() == 0) return OkStatus();
    return compute::ResampleGrad(ctx.work(), x.dtype(), x.dim(0), x.dim(3), taps.rows, taps.columns,
                                 dy.data<float>(), dx->mutable_raw_data());
  }
};

class Area : public ResampleKernel {
 public:
  Status Read(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(align_corners_, c.Attr<bool>("align_corners"));
    return OkStatus();
  }

 private:
  Result<Taps> TapsOf(Context&, int, int64_t in, int64_t out) const override {
    return compute::AreaTaps(in, out, align_corners_);
  }
  bool align_corners_ = false;
};

class Cubic : public ResampleKernel {
 public:
  Status Read(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(align_corners_, c.Attr<bool>("align_corners"));
    ASSIGN_OR_RETURN(half_pixel_centers_, c.Attr<bool>("half_pixel_centers"));
    if (!align_corners_ || !half_pixel_centers_) return OkStatus();
    return InvalidArgument("If half_pixel_centers is True, align_corners must be False.");
  }

 private:
  Result<Taps> TapsOf(Context&, int, int64_t in, int64_t out) const override {
    return compute::CubicTaps(in, out, align_corners_, half_pixel_centers_);
  }
  bool align_corners_ = false, half_pixel_centers_ = false;
};

class Placed : public ResampleKernel {
 public:
  Status Read(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(kernel_, c.Attr<std::string>("kernel_type"));
    ASSIGN_OR_RETURN(antialias_, c.Attr<bool>("antialias"));
    if (compute::IsResampleKernel(kernel_)) return OkStatus();
    return InvalidArgument("Unrecognized kernel type: ", kernel_);
  }

 private:
  Result<Taps> TapsOf(Context& ctx, int axis, int64_t in, int64_t out) const override {
    const Tensor &scale = ctx.input(2), &translation = ctx.input(3);
    for (const Tensor* pair : {&scale, &translation}) {
      if (pair->shape() == Shape{2}) continue;
      return InvalidArgument("scale and translation must have two elements, got shapes ",
                             scale.shape(), " and ", translation.shape());
    }
    compute::Placement placement;
    placement.kernel = kernel_;
    placement.antialias = antialias_;
    placement.scale = scale.data<float>()[axis];
    placement.translation = translation.data<float>()[axis];
    if (placement.scale > 0) return compute::KernelTaps(in, out, placement);
    return InvalidArgument("Scale must be greater than zero, got ", placement.scale);
  }
  std::string kernel_;
  bool antialias_ = true;
};

template <class K, bool kGrad>
struct Made : K {
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<Made<K, kGrad>>();
    RETURN_IF_ERROR(kernel->Read(c));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }
  Status Compute(Context& ctx) override { return kGrad ? this->Backward(ctx) : this->Forward(ctx); }
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(resample, cpu) {
  // What the schemas allow.
  for (DType dtype :
       {DType::kInt8, DType::kUint8, DType::kInt16, DType::kUint16, DType::kInt32, DType::kInt64,
        DType::kHalf, DType::kBfloat16, DType::kFloat, DType::kDouble}) {
    registry.Add<Made<Area, false>>("ResizeArea", kCpu, {{"T", dtype}});
    registry.Add<Made<Cubic, false>>("ResizeBicubic", kCpu, {{"T", dtype}});
    registry.Add<Made<Placed, false>>("ScaleAndTranslate", kCpu, {{"T", dtype}});
  }
  for (DType dtype : {DType::kFloat, DType::kDouble}) {
    registry.Add<Made<Cubic, true>>("ResizeBicubicGrad", kCpu, {{"T", dtype}});
  }
  registry.Add<Made<Placed, true>>("ScaleAndTranslateGrad", kCpu, {{"T", DType::kFloat}});
}
