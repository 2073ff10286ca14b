// SPDX-License-Identifier: Apache-2.0
// Depthwise convolution: each input channel has its own filters, `multiplier` of them, and makes
// as many output channels; and its two gradients.
//
//   DepthwiseShape shape{.batch = 8, .rows = rows, .columns = columns, .in_channels = 32,
//                        .multiplier = 1};
//   RETURN_IF_ERROR(Depthwise(work, DType::kFloat, shape, input, filter, output));
//
// Layouts: images [batch, rows, columns, channels], filter [rows, columns, in, multiplier]; output
// channel in * multiplier + m. Types: float, double, half, bfloat16 (the latter two through float).
// Bits do not depend on the number of threads.
// Ownership: operands are the caller's; nothing is kept.
// Threads: any, each with its own Work.
// Errors: Unimplemented for another type; those of work.h.
#pragma once

#include "thalweg/compute/conv/window.h"
#include "thalweg/compute/work.h"
#include "thalweg/tensor/dtype.h"

namespace thalweg::compute {

struct DepthwiseShape {
  int64_t batch = 1;
  Window rows, columns;
  int64_t in_channels = 1, multiplier = 1;

  int64_t out_channels() const { return in_channels * multiplier; }
  int64_t InPixels() const { return rows.input * columns.input; }
  int64_t OutPixels() const { return rows.output * columns.output; }
  int64_t Taps() const { return rows.size * columns.size; }
};

Status Depthwise(Work& work, DType dtype, const DepthwiseShape& shape, const void* input,
                 const void* filter, void* output);
Status DepthwiseBackwardInput(Work& work, DType dtype, const DepthwiseShape& shape,
                              const void* filter, const void* output_grad, void* input_grad);
Status DepthwiseBackwardFilter(Work& work, DType dtype, const DepthwiseShape& shape,
                               const void* input, const void* output_grad, void* filter_grad);

}  // namespace thalweg::compute
