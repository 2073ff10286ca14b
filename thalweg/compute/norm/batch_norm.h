// SPDX-License-Identifier: Apache-2.0
// Batch normalization: moments per channel, normalizing, and the sums and values of the gradient.
// Element (o, c, i) of a tensor lies at (o * channels + c) * inner + i: NHWC is inner = 1.
//
//   ChannelMoments(work, dtype, shape, x, mean, variance);   // variance over n, not n - 1
//   ScaleChannels(work, dtype, shape, x, factor, term, y);   // y = x * factor[c] + term[c]
//
// Types: float; half and bfloat16 through float. Sums are taken in float over small pieces and in
// double over these, in fixed blocks, so that bits do not depend on threads. Each function reads
// its tensors once.
// Ownership: operands are the caller's; nothing is kept.
// Threads: any, each with its own Work.
// Errors: Unimplemented for another type; those of work.h.
#pragma once

#include "thalweg/compute/work.h"
#include "thalweg/tensor/dtype.h"

namespace thalweg::compute {

struct ChannelShape {
  int64_t outer = 1, channels = 1, inner = 1;
  int64_t per_channel() const { return outer * inner; }
};

// Over nothing, both are 0.
Status ChannelMoments(Work& work, DType dtype, const ChannelShape& shape, const void* x,
                      double* mean, double* variance);
// What is added to y, if anything, and whether negative sums become 0: the bits of doing so in
// further passes.
struct AfterScale {
  const void* side = nullptr;
  bool relu = false;
};
Status ScaleChannels(Work& work, DType dtype, const ChannelShape& shape, const void* x,
                     const float* factor, const float* term, void* y, const AfterScale& after = {});

// A gradient has yet to pass a relu after ScaleChannels(factor, term): it counts where the result
// of that is above 0, and not elsewhere. There is none by default.
struct ScaledRelu {
  const float* factor = nullptr;
  const float* term = nullptr;
};
// sum[c] = sum of dy; dot[c] = sum of dy * (x - mean[c]).
Status ChannelGradSums(Work& work, DType dtype, const ChannelShape& shape, const void* dy,
                       const void* x, const float* mean, double* sum, double* dot,
                       const ScaledRelu& relu = {});
// dx = factor[c] * (dy - term[c] - (x - mean[c]) * slope[c]).
Status CenteredGrad(Work& work, DType dtype, const ChannelShape& shape, const void* dy,
                    const void* x, const float* mean, const float* factor, const float* term,
                    const float* slope, void* dx, const ScaledRelu& relu = {});

}  // namespace thalweg::compute
