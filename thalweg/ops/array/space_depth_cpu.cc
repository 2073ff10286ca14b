// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/move/strided_copy.h"
#include "thalweg/kernel/kernel_registry.h"

namespace thalweg {
namespace {

// An image of height * block by width * block with `channels`, and the same elements as height by
// width with block * block * channels.
struct DepthBlocks {
  int64_t batch = 0;
  int64_t height = 0;
  int64_t width = 0;
  int64_t channels = 0;
  int64_t block = 0;
};

// Order of the loop: batch, block row, row in it, block column, column in it, channel.
Dims LoopDims(const DepthBlocks& b) {
  return {b.batch, b.height, b.block, b.width, b.block, b.channels};
}
Dims SpaceStrides(const DepthBlocks& b, bool channels_first) {
  const int64_t c = b.channels, s = b.block, width = b.width * s, height = b.height * s;
  if (channels_first) return {c * height * width, s * width, width, s, 1, height * width};
  return {height * width * c, s * width * c, width * c, s * c, c, 1};
}
Dims DepthStrides(const DepthBlocks& b, bool channels_first) {
  const int64_t c = b.channels, s = b.block, area = b.height * b.width;
  if (channels_first) return {s * s * c * area, b.width, s * c * area, 1, c * area, area};
  return {area * s * s * c, b.width * s * s * c, s * c, s * s * c, c, 1};
}

class SpaceDepthKernel : public Kernel {
 public:
  SpaceDepthKernel(int64_t block, bool channels_first)
      : block_(block), channels_first_(channels_first) {}

 protected:
  // The image that the input holds: height, width and channels.
  struct Image {
    Shape shape;
    int height;
    int channel;
  };
  Result<Image> ImageOf(const Tensor& x) const {
    if (x.rank() != 4) return InvalidArgument("Input rank should be 4 instead of ", x.rank());
    return Image{x.shape(), channels_first_ ? 2 : 1, channels_first_ ? 1 : 3};
  }
  Dims ShapeFor(int64_t batch, int64_t height, int64_t width, int64_t channels) const {
    return channels_first_ ? Dims{batch, channels, height, width}
                           : Dims{batch, height, width, channels};
  }

  const int64_t block_;
  const bool channels_first_;
};

template <class K>
Result<std::unique_ptr<Kernel>> CreateWithFormat(const KernelConstruction& c) {
  ASSIGN_OR_RETURN(const int64_t block, c.Attr<int64_t>("block_size"));
  ASSIGN_OR_RETURN(const std::string format, c.Attr<std::string>("data_format"));
  if (block < 2 || block > (int64_t{1} << 31)) {
    return InvalidArgument("Block size should be > 1 and at most 2^31, but was: ", block);
  }
  if (format != "NHWC" && format != "NCHW") {
    return Unimplemented("data_format ", format, " (NHWC and NCHW have kernels)");
  }
  return std::unique_ptr<Kernel>(std::make_unique<K>(block, format == "NCHW"));
}

class SpaceToDepthCpu : public SpaceDepthKernel {
 public:
  using SpaceDepthKernel::SpaceDepthKernel;
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    return CreateWithFormat<SpaceToDepthCpu>(c);
  }

  Status Compute(Context& ctx) override {
    const Tensor& x = ctx.input(0);
    ASSIGN_OR_RETURN(const Image image, ImageOf(x));
    const int64_t height = image.shape.dim(image.height);
    const int64_t width = image.shape.dim(image.height + 1);
    if (height % block_ != 0 || width % block_ != 0) {
      return InvalidArgument("Image width ", width, " and height ", height,
                             " should be divisible by block_size: ", block_);
    }
    const DepthBlocks b{image.shape.dim(0), height / block_, width / block_,
                        image.shape.dim(image.channel), block_};
    int64_t depth = 0;
    if (__builtin_mul_overflow(b.channels, block_ * block_, &depth)) {
      return InvalidArgument(b.channels, " channels are too many for block_size ", block_);
    }
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(ShapeFor(b.batch, b.height, b.width, depth)));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, x.dtype(), shape));
    return compute::CopyStrided(ctx.work(), x.dtype(), LoopDims(b),
                                {x.raw_data(), SpaceStrides(b, channels_first_)},
                                {out->mutable_raw_data(), DepthStrides(b, channels_first_)});
  }
};

class DepthToSpaceCpu : public SpaceDepthKernel {
 public:
  using SpaceDepthKernel::SpaceDepthKernel;
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    return CreateWithFormat<DepthToSpaceCpu>(c);
  }

  Status Compute(Context& ctx) override {
    const Tensor& x = ctx.input(0);
    ASSIGN_OR_RETURN(const Image image, ImageOf(x));
    const int64_t depth = image.shape.dim(image.channel);
    if (depth % (block_ * block_) != 0) {
      return InvalidArgument("Input depth dimension ", depth,
                             " should be divisible by: ", block_ * block_);
    }
    const DepthBlocks b{image.shape.dim(0), image.shape.dim(image.height),
                        image.shape.dim(image.height + 1), depth / (block_ * block_), block_};
    int64_t height = 0;
    int64_t width = 0;
    if (__builtin_mul_overflow(b.height, block_, &height) ||
        __builtin_mul_overflow(b.width, block_, &width)) {
      return InvalidArgument("an image of ", b.height, " by ", b.width,
                             " is too large for block_size ", block_);
    }
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(ShapeFor(b.batch, height, width, b.channels)));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, x.dtype(), shape));
    return compute::CopyStrided(ctx.work(), x.dtype(), LoopDims(b),
                                {x.raw_data(), DepthStrides(b, channels_first_)},
                                {out->mutable_raw_data(), SpaceStrides(b, channels_first_)});
  }
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(space_depth, cpu) {
  registry.Add<SpaceToDepthCpu>("SpaceToDepth", kCpu);
  registry.Add<DepthToSpaceCpu>("DepthToSpace", kCpu);
}
