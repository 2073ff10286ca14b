// SPDX-License-Identifier: Apache-2.0
// From a Slide to the windows of compute/, and channels-last copies. Private to this family.
// Ownership: a copy with channels last, or a share of what is so already; the output is the
// context's.
// Threads: those of the kernel's call.
// Errors: InvalidArgument for a window that does not fit, ResourceExhausted, those of compute/move.
#pragma once

#include <array>

#include "thalweg/compute/conv/window.h"
#include "thalweg/compute/move/strided_copy.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/ops/nn/slide.h"

namespace thalweg {

// Planes, rows, columns; two spatial dimensions are rows and columns of one plane. `image` has the
// format's rank.
inline Result<std::array<compute::Window, 3>> MakeWindows(const Slide& slide, const Shape& image) {
  using compute::Padding;
  const Padding padding = slide.padding == "SAME"    ? Padding::kSame
                          : slide.padding == "VALID" ? Padding::kValid
                                                     : Padding::kExplicit;
  std::array<compute::Window, 3> made;
  const int count = slide.format.spatial_count();
  for (int d = 0; d < count; ++d) {
    const int dim = slide.format.spatial(d);
    const auto at = static_cast<size_t>(dim);
    ASSIGN_OR_RETURN(
        made[static_cast<size_t>(3 - count + d)],
        compute::MakeWindow(image.dim(dim), slide.ksize[at], slide.strides[at], slide.dilation(dim),
                            padding, slide.pad(dim, false), slide.pad(dim, true)));
  }
  return made;
}

inline Shape SlidOutput(const SlideFormat& format, int64_t batch, int64_t channels,
                        const std::array<compute::Window, 3>& windows) {
  Dims dims;
  dims.resize(format.rank);
  dims[0] = batch;
  dims[format.channels()] = channels;
  const int count = format.spatial_count();
  auto window = windows.end() - count;
  for (int d = 0; d < count; ++d) dims[format.spatial(d)] = (window++)->output;
  return Shape(dims);
}

// [batch, channels, pixels] to [batch, pixels, channels], or back.
inline Status SwapChannels(Context& ctx, const Tensor& from, Tensor* to, bool to_last) {
  const Shape& first = to_last ? from.shape() : to->shape();
  const int64_t n = first.dim(0), c = first.dim(1);
  const int64_t p = n * c == 0 ? 0 : first.num_elements() / (n * c);
  const Dims last_strides{p * c, c, 1}, first_strides{c * p, 1, p};
  return compute::CopyStrided(ctx.work(), from.dtype(), Dims{n, p, c},
                              {from.raw_data(), to_last ? first_strides : last_strides},
                              {to->mutable_raw_data(), to_last ? last_strides : first_strides});
}

// The tensor with channels last; a copy when they are first.
inline Result<Tensor> ChannelsLast(Context& ctx, const SlideFormat& format, const Tensor& t) {
  if (!format.channels_first) return t;
  Dims dims = t.shape().dims();
  for (int i = 1; i + 1 < format.rank; ++i) {
    dims[i] = t.dim(i + 1);
  }
  dims[format.rank - 1] = t.dim(1);
  ASSIGN_OR_RETURN(Tensor copy, ctx.AllocateTemporary(t.dtype(), Shape(dims)));
  RETURN_IF_ERROR(SwapChannels(ctx, t, &copy, true));
  return copy;
}

// Runs `fill(data)`, which writes channels last, into output `index` of `shape` in the format.
template <class F>
Status WriteOutput(Context& ctx, const SlideFormat& format, int index, DType dtype,
                   const Shape& shape, F&& fill) {
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(index, dtype, shape));
  if (!format.channels_first) return fill(out->mutable_raw_data());
  ASSIGN_OR_RETURN(Tensor last, ctx.AllocateTemporary(dtype, shape));
  RETURN_IF_ERROR(fill(last.mutable_raw_data()));
  return SwapChannels(ctx, last, out, false);
}

}  // namespace thalweg
