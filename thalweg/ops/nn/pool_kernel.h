// SPDX-License-Identifier: Apache-2.0
// What the kernels of all pooling operations share. Private to this family.
// Ownership: values; a kernel keeps its attributes.
// Threads: Compute from any, several at once.
// Errors: InvalidArgument for images and outputs of another shape, Unimplemented for windows over
// channels and space.
#pragma once

#include "thalweg/compute/pool/pool.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/ops/nn/pool_attrs.h"
#include "thalweg/ops/nn/slide_kernel.h"

namespace thalweg {

// The windows of one pooling over one image shape.
struct Pooling {
  SlideFormat format;
  compute::PoolShape sizes;
  Shape output;
};

class PoolKernel : public Kernel {
 public:
  Status Read(const KernelConstruction& c) {
    op_ = c.node().op_name();
    ASSIGN_OR_RETURN(slide_, ParsePool(c));
    return OkStatus();
  }

 protected:
  // ksize and strides are the last two inputs where they are no attributes.
  Result<Pooling> PoolingOf(const Context& ctx, const Shape& image,
                            bool over_channels = false) const {
    Slide slide = slide_;
    if (slide.ksize.empty()) {
      const int n = ctx.num_inputs();
      RETURN_IF_ERROR(SetPoolSizes(ctx.input(n - 2), ctx.input(n - 1), op_, &slide));
    }
    if (!over_channels) RETURN_IF_ERROR(RefuseChannels(slide));
    RETURN_IF_ERROR(CheckRank(slide.format, image));
    Pooling p;
    p.format = slide.format;
    const int64_t channels = image.dim(p.format.channels());
    ASSIGN_OR_RETURN(const auto windows, MakeWindows(slide, image));
    ASSIGN_OR_RETURN(const int64_t left, PooledChannels(slide, channels));
    p.output = SlidOutput(p.format, image.dim(0), left, windows);
    p.sizes = {image.dim(0), windows[1], windows[2], channels, windows[0]};
    if (PoolsOverChannels(slide)) {
      // Each pixel is a picture of one row, its channels the columns. Strides over space may leave
      // some pixels out: those are not supported.
      ASSIGN_OR_RETURN(
          const compute::Window over,
          compute::MakeWindow(channels, channels / std::max<int64_t>(1, left),
                              channels / std::max<int64_t>(1, left), 1, compute::Padding::kValid));
      if (p.sizes.InPixels() != p.sizes.OutPixels()) {
        return Unimplemented("pooling over channels with strides over space");
      }
      p.sizes = {p.sizes.batch * p.sizes.InPixels(), {}, over, 1};
    }
    return p;
  }

  Status CheckRank(const SlideFormat& format, const Shape& image) const {
    if (image.rank() == format.rank) return OkStatus();
    if (format.rank == 4 && !op_.ends_with("Grad") && !op_.ends_with("GradV2")) {
      return InvalidArgument("tensor_in_shape must have 2 spatial dimensions, got ", image);
    }
    return InvalidArgument("tensor_in must be ", format.rank, "-dimensional, got ", image);
  }

  static Status CheckOutputShape(const Pooling& p, const Tensor& tensor, const char* what) {
    if (tensor.shape() == p.output) return OkStatus();
    return InvalidArgument(what, " must have the shape of the output, ", p.output.ToString(),
                           ", got ", tensor.shape());
  }

  std::string op_;
  Slide slide_;
};

template <class K>
struct Made : K {
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<Made<K>>();
    RETURN_IF_ERROR(kernel->Read(c));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }
};

}  // namespace thalweg
