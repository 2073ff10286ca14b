// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/image/resize.h"
#include "thalweg/compute/move/gather.h"
#include "thalweg/ops/nn/conv_kernel.h"
#include "thalweg/ops/nn/pad_conv_attrs.h"

namespace thalweg {
namespace {

// Where each element of a dimension with a mirrored border comes from.
Result<Tensor> MirroredPlaces(Context& ctx, int64_t size, int64_t before, int64_t padded,
                              bool reflect) {
  ASSIGN_OR_RETURN(Tensor places, ctx.AllocateTemporary(DType::kInt64, Shape{padded}));
  auto* at = places.mutable_data<int64_t>();
  const int64_t skip = reflect ? 1 : 0;
  for (int64_t i = 0; i < padded; ++i) {
    int64_t place = i - before;
    if (place < 0) place = -place - 1 + skip;
    if (place >= size) place = 2 * size - 1 - skip - place;
    at[i] = place;
  }
  return places;
}

// The image with mirrored borders at its rows (d 0) or columns (1).
Result<Tensor> Mirrored(Context& ctx, const Tensor& image, int d, const MirrorPaddings& p,
                        bool reflect) {
  const int64_t size = image.dim(1 + d);
  ASSIGN_OR_RETURN(const int64_t padded, MirroredSize(size, p.before[d], p.after[d], reflect));
  if (padded == size) return image;
  ASSIGN_OR_RETURN(const Tensor places, MirroredPlaces(ctx, size, p.before[d], padded, reflect));
  Dims dims = image.shape().dims();
  dims[1 + d] = padded;
  ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  ASSIGN_OR_RETURN(Tensor out, ctx.AllocateTemporary(image.dtype(), shape));
  const int64_t outer = dims[0] * (d == 0 ? 1 : dims[1]);
  const int64_t inner = dims[3] * (d == 0 ? dims[2] : 1);
  RETURN_IF_ERROR(compute::GatherRows(
      ctx.work(), image.dtype(),
      {.batch = 1, .outer = outer, .rows = size, .inner = inner, .count = padded}, image.raw_data(),
      places.data<int64_t>(), out.mutable_raw_data()));
  return out;
}

class PadConvCpu : public Kernel {
 public:
  explicit PadConvCpu(bool resizes) : resizes_(resizes) {}

  template <bool kResizes>
  static Result<std::unique_ptr<Kernel>> Make(const KernelConstruction& c) {
    auto kernel = std::make_unique<PadConvCpu>(kResizes);
    ASSIGN_OR_RETURN(kernel->attrs_, ParsePadConvAttrs(c));
    ASSIGN_OR_RETURN(const std::string mode, c.Attr<std::string>("mode"));
    kernel->reflect_ = mode == "REFLECT";
    if (kResizes) {
      ASSIGN_OR_RETURN(kernel->align_corners_, c.Attr<bool>("resize_align_corners"));
    }
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(Context& ctx) override {
    const int at = resizes_ ? 2 : 1;
    Tensor image = ctx.input(0);
    const Tensor& filter = ctx.input(at + 1);
    if (image.rank() != 4 || filter.rank() != 4) {
      return InvalidArgument("input and filter must have 4 dimensions, got shapes ", image.shape(),
                             " and ", filter.shape());
    }
    if (image.num_elements() == 0 || filter.num_elements() == 0) {
      return InvalidArgument("input and filter must not be empty, got shapes ", image.shape(),
                             " and ", filter.shape());
    }
    if (image.dim(3) != filter.dim(2)) {
      return InvalidArgument("input and filter must have the same depth: ", image.dim(3), " vs ",
                             filter.dim(2));
    }
    ASSIGN_OR_RETURN(const MirrorPaddings paddings, ParseMirrorPaddings(ctx.input(at)));
    if (resizes_) {
      ASSIGN_OR_RETURN(image, Resized(ctx, image));
    }
    for (int d = 0; d < 2; ++d) {
      ASSIGN_OR_RETURN(image, Mirrored(ctx, image, d, paddings, reflect_));
    }
    ASSIGN_OR_RETURN(const auto sizes, ConvSizes(attrs_, image.shape(), filter.shape()));
    ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, image.dtype(), ConvOutputShape(sizes)));
    return compute::Conv2D(ctx.work(), image.dtype(), sizes, image.raw_data(), filter.raw_data(),
                           y->mutable_raw_data(), {}, &plans_);
  }

 private:
  Result<Tensor> Resized(Context& ctx, const Tensor& image) const {
    ASSIGN_OR_RETURN(const Dims size, IntVector(ctx.input(1), "size"));
    if (size.size() != 2) {
      return InvalidArgument("size must have two elements, got shape ", ctx.input(1).shape());
    }
    if (size[0] <= 0 || size[1] <= 0) {
      return InvalidArgument("output dimensions must be positive, got ", size[0], " and ", size[1]);
    }
    ASSIGN_OR_RETURN(const Shape shape,
                     Shape::Make(Dims{image.dim(0), size[0], size[1], image.dim(3)}));
    ASSIGN_OR_RETURN(Tensor out, ctx.AllocateTemporary(image.dtype(), shape));
    RETURN_IF_ERROR(compute::ResizeBilinearSameType(ctx.work(), image.dtype(),
                                                    {.batch = image.dim(0),
                                                     .rows = image.dim(1),
                                                     .columns = image.dim(2),
                                                     .out_rows = size[0],
                                                     .out_columns = size[1],
                                                     .channels = image.dim(3),
                                                     .align_corners = align_corners_},
                                                    image.raw_data(), out.mutable_raw_data()));
    return out;
  }

  const bool resizes_;
  WindowAttrs attrs_;
  bool reflect_ = false;
  bool align_corners_ = false;
  compute::ConvPlans plans_;  // locks for itself
};

struct FusedPadConv : PadConvCpu {
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    return Make<false>(c);
  }
};
struct FusedResizeAndPadConv : PadConvCpu {
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    return Make<true>(c);
  }
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(fused_pad_conv2d, cpu) {
  for (DType dtype : {DType::kHalf, DType::kBfloat16, DType::kFloat, DType::kDouble}) {
    registry.Add<FusedPadConv>("FusedPadConv2D", kCpu, {{"T", dtype}}).Cost(KernelCost::kExpensive);
  }
  for (DType dtype : {DType::kHalf, DType::kFloat, DType::kDouble}) {
    registry.Add<FusedResizeAndPadConv>("FusedResizeAndPadConv2D", kCpu, {{"T", dtype}})
        .Cost(KernelCost::kExpensive);
  }
}
