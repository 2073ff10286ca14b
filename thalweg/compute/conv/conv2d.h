// SPDX-License-Identifier: Apache-2.0
// Conv2D and its two gradients, by matrix products over tiles gathered from the image (no whole
// im2col copy).
//
//   ASSIGN_OR_RETURN(Window rows, MakeWindow(224, 7, 2, 1, Padding::kSame));   // and columns
//   Conv2DShape shape{.batch = 8, .rows = rows, .columns = columns, .in_channels = 3, .out_channels
//   = 64}; RETURN_IF_ERROR(Conv2D(work, DType::kFloat, shape, input, filter, output, {.bias = bias,
//   .relu = true}));
//
// Layouts: the filter is [rows, columns, in, out]; images are [batch, rows, columns, channels], or,
// with channels_first, [batch, channels, rows, columns], which costs a transposed copy of each
// image operand. Types: float, double; half and bfloat16 through float; int32 by plain loops
// (wrapping). Others are Unimplemented. Empty sizes are fine: sums over nothing are zero. Bits do
// not depend on the number of threads. The epilogue has GemmEpilogue's meaning, n being
// out_channels; its residual has the output's layout and must be null with channels_first or
// groups. With groups, the filter is [rows, columns, in / groups, out] and part g of the input's
// channels makes part g of the output's. With plans, float convolutions may be oneDNN's
// (conv_plans.h): other bits, but still the same for any number of threads.
#pragma once

#include <cstdint>

#include "thalweg/compute/conv/conv_plans.h"
#include "thalweg/compute/conv/window.h"
#include "thalweg/compute/gemm/gemm.h"
#include "thalweg/compute/work.h"

namespace thalweg::compute {

struct Conv2DShape {
  int64_t batch = 1;
  Window rows, columns;  // window size = filter size
  int64_t in_channels = 1, out_channels = 1;
  bool channels_first = false;
  int64_t groups = 1;  // divides both numbers of channels

  int64_t InPixels() const { return rows.input * columns.input; }
  int64_t OutPixels() const { return rows.output * columns.output; }
  int64_t Taps() const { return rows.size * columns.size; }
};

Status Conv2D(Work& work, DType dtype, const Conv2DShape& shape, const void* input,
              const void* filter, void* output, const GemmEpilogue& epilogue = {},
              ConvPlans* plans = nullptr);

Status Conv2DBackwardInput(Work& work, DType dtype, const Conv2DShape& shape, const void* filter,
                           const void* output_grad, void* input_grad, ConvPlans* plans = nullptr);

Status Conv2DBackwardFilter(Work& work, DType dtype, const Conv2DShape& shape, const void* input,
                            const void* output_grad, void* filter_grad, ConvPlans* plans = nullptr);

}  // namespace thalweg::compute
