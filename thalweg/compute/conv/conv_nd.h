// SPDX-License-Identifier: Apache-2.0
// Convolutions over up to three spatial dimensions and their gradients: blocks of patches copied
// out of the volume (im2col, a bounded block at a time) and matrix products; with plans, large ones
// of float are sums of the 2-D ones of conv2d.h, a plane of the filter at a time.
//
//   ConvNdShape shape{.batch = 2, .windows = {planes, rows, columns}, .in_channels = 3,
//                     .out_channels = 8};
//   RETURN_IF_ERROR(ConvNd(work, DType::kFloat, shape, input, filter, output));
//
// Layouts: [batch, planes, rows, columns, channels] and [planes, rows, columns, in, out]. Types:
// float, double; half and bfloat16 through float. Empty sizes are fine. Bits do not depend on the
// number of threads.
// Ownership: operands are the caller's; plans outlive the call and keep what they are given.
// Threads: any, each with its own Work; plans lock for themselves.
// Errors: Unimplemented for another type; those of work.h.
#pragma once

#include <array>
#include <cstdint>

#include "thalweg/compute/conv/conv_plans.h"
#include "thalweg/compute/conv/window.h"
#include "thalweg/compute/work.h"
#include "thalweg/tensor/dtype.h"

namespace thalweg::compute {

struct ConvNdShape {
  int64_t batch = 1;
  std::array<Window, 3> windows{};  // one that is not given has one place
  int64_t in_channels = 1, out_channels = 1;

  int64_t InPixels() const { return windows[0].input * windows[1].input * windows[2].input; }
  int64_t OutPixels() const { return windows[0].output * windows[1].output * windows[2].output; }
  int64_t Taps() const { return windows[0].size * windows[1].size * windows[2].size; }
};

Status ConvNd(Work& work, DType dtype, const ConvNdShape& shape, const void* input,
              const void* filter, void* output, ConvPlans* plans = nullptr);
Status ConvNdBackwardInput(Work& work, DType dtype, const ConvNdShape& shape, const void* filter,
                           const void* output_grad, void* input_grad, ConvPlans* plans = nullptr);
Status ConvNdBackwardFilter(Work& work, DType dtype, const ConvNdShape& shape, const void* input,
                            const void* output_grad, void* filter_grad, ConvPlans* plans = nullptr);

}  // namespace thalweg::compute
