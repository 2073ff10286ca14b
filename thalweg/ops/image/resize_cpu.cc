// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/image/resize.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

using compute::ResizeShape;

class ResizeKernel : public Kernel {
 public:
  Status Read(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(options_.align_corners, c.Attr<bool>("align_corners"));
    ASSIGN_OR_RETURN(options_.half_pixel_centers, c.Attr<bool>("half_pixel_centers"));
    if (!options_.align_corners || !options_.half_pixel_centers) return OkStatus();
    return InvalidArgument("If half_pixel_centers is True, align_corners must be False.");
  }

 protected:
  // The two sizes of an input.
  static Result<Dims> SizeOf(const Tensor& tensor) {
    if (tensor.rank() != 1) {
      return InvalidArgument("shape_t must be 1-dimensional", tensor.shape(), ", the size");
    }
    ASSIGN_OR_RETURN(Dims size, IntVector(tensor, "size"));
    if (size.size() != 2) {
      return InvalidArgument("shape_t must have two elements", tensor.shape(), ", the size");
    }
    if (size[0] > 0 && size[1] > 0) return size;
    return InvalidArgument("output dimensions must be positive, got ", size[0], " and ", size[1]);
  }

  // Geometry between images of these shapes; no pixel may be missing.
  Result<ResizeShape> Between(const Shape& in, const Shape& out) const {
    ResizeShape s = options_;
    s.batch = in.dim(0);
    s.rows = in.dim(1);
    s.columns = in.dim(2);
    s.out_rows = out.dim(1);
    s.out_columns = out.dim(2);
    s.channels = in.dim(3);
    if (s.rows > 0 && s.columns > 0 && s.out_rows > 0 && s.out_columns > 0) return s;
    return InvalidArgument("images must be of non-zero size, got ", in, " and ", out);
  }

  static Status CheckRank(const Tensor& images, std::string_view what) {
    if (images.rank() == 4) return OkStatus();
    return InvalidArgument(what, " must be 4-dimensional, got shape ", images.shape());
  }

 private:
  ResizeShape options_;
};

// Forward, and nearest-neighbor gradients, whose output is of the size of an input.
template <bool kBilinear, bool kGrad>
class ResizeToSize : public ResizeKernel {
  Status Compute(Context& ctx) override {
    const Tensor& x = ctx.input(0);
    RETURN_IF_ERROR(CheckRank(x, kGrad ? "grads" : "images"));
    ASSIGN_OR_RETURN(const Dims size, SizeOf(ctx.input(1)));
    Dims dims = x.shape().dims();
    dims[1] = size[0];
    dims[2] = size[1];
    ASSIGN_OR_RETURN(const Shape to, Shape::Make(dims));
    const Shape from = x.shape();
    ASSIGN_OR_RETURN(const ResizeShape shape, kGrad ? Between(to, from) : Between(from, to));
    ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, kBilinear ? DType::kFloat : x.dtype(), to));
    if (y->num_elements() == 0) return OkStatus();
    if (kBilinear) {
      return compute::ResizeBilinear(ctx.work(), x.dtype(), shape, x.raw_data(),
                                     y->mutable_data<float>());
    }
    const auto resize = kGrad ? compute::ResizeNearestGrad : compute::ResizeNearest;
    return resize(ctx.work(), x.dtype(), shape, x.raw_data(), y->mutable_raw_data());
  }
};

// Resizes levels of a range, which goes through.
class QuantizedResizeCpu : public ResizeKernel {
  Status Compute(Context& ctx) override {
    const Tensor& x = ctx.input(0);
    RETURN_IF_ERROR(CheckRank(x, "images"));
    for (int i = 2; i < 4; ++i) {
      if (ctx.input(i).rank() == 0) continue;
      return InvalidArgument(i == 2 ? "min" : "max", " must be a scalar, got shape ",
                             ctx.input(i).shape());
    }
    ASSIGN_OR_RETURN(const Dims size, SizeOf(ctx.input(1)));
    ASSIGN_OR_RETURN(const Shape to, Shape::Make(Dims{x.dim(0), size[0], size[1], x.dim(3)}));
    ASSIGN_OR_RETURN(const ResizeShape shape, Between(x.shape(), to));
    if (x.dim(3) == 0) return InvalidArgument("images must have at least one channel");
    ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, x.dtype(), to));
    ctx.set_output(1, ctx.input(2));
    ctx.set_output(2, ctx.input(3));
    if (y->num_elements() == 0) return OkStatus();
    const auto resize = x.dtype() == DType::kFloat ? compute::ResizeBilinearSameType
                                                   : compute::ResizeBilinearLevels;
    return resize(ctx.work(), x.dtype(), shape, x.raw_data(), y->mutable_raw_data());
  }
};

class BilinearGradCpu : public ResizeKernel {
  Status Compute(Context& ctx) override {
    const Tensor &dy = ctx.input(0), &x = ctx.input(1);
    RETURN_IF_ERROR(CheckRank(dy, "grads"));
    RETURN_IF_ERROR(CheckRank(x, "original_image"));
    if (dy.dim(0) != x.dim(0) || dy.dim(3) != x.dim(3)) {
      return InvalidArgument("grads and original_image must agree in batch and channels, got ",
                             dy.shape(), " and ", x.shape());
    }
    ASSIGN_OR_RETURN(const ResizeShape shape, Between(x.shape(), dy.shape()));
    ASSIGN_OR_RETURN(Tensor * dx, ctx.AllocateOutput(0, x.dtype(), x.shape()));
    return compute::ResizeBilinearGrad(ctx.work(), x.dtype(), shape, dy.data<float>(),
                                       dx->mutable_raw_data());
  }
};

template <class K>
struct MadeResize : K {
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<MadeResize<K>>();
    RETURN_IF_ERROR(kernel->Read(c));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(resize, cpu) {
  for (DType dtype : {DType::kQuint8, DType::kQint32, DType::kFloat}) {
    registry.Add<MadeResize<QuantizedResizeCpu>>("QuantizedResizeBilinear", kCpu, {{"T", dtype}});
  }
  // What the schemas allow.
  for (DType dtype :
       {DType::kInt8, DType::kUint8, DType::kInt16, DType::kUint16, DType::kInt32, DType::kInt64,
        DType::kHalf, DType::kBfloat16, DType::kFloat, DType::kDouble}) {
    registry.Add<MadeResize<ResizeToSize<true, false>>>("ResizeBilinear", kCpu, {{"T", dtype}});
    registry.Add<MadeResize<ResizeToSize<false, false>>>("ResizeNearestNeighbor", kCpu,
                                                         {{"T", dtype}});
  }
  for (DType dtype : {DType::kHalf, DType::kBfloat16, DType::kFloat, DType::kDouble}) {
    registry.Add<MadeResize<BilinearGradCpu>>("ResizeBilinearGrad", kCpu, {{"T", dtype}});
  }
  for (DType dtype : {DType::kUint8, DType::kInt8, DType::kInt32, DType::kHalf, DType::kFloat,
                      DType::kDouble, DType::kBfloat16}) {
    registry.Add<MadeResize<ResizeToSize<false, true>>>("ResizeNearestNeighborGrad", kCpu,
                                                        {{"T", dtype}});
  }
}
