// SPDX-License-Identifier: Apache-2.0
// Gray-scale dilation: the largest of input + filter over each window, channel by channel, and its
// gradients, which go to the first largest place of each window in row-major order.
//
//   Dilation2DShape shape{.batch = 8, .rows = rows, .columns = columns, .channels = 3};
//   Dilation2D(work, DType::kFloat, shape, x, filter, y);             // filter [rows, columns, c]
//
// Types: real numbers; integers wrap. Places outside do not count; NaN wins no window; a window
// without a winner gives the least finite value, and its gradient goes to its first place inside.
// Ownership: operands are the caller's; nothing is kept.
// Threads: any, each with its own Work.
// Errors: Unimplemented for another type; those of work.h.
#pragma once

#include "thalweg/compute/conv/window.h"
#include "thalweg/compute/work.h"
#include "thalweg/tensor/dtype.h"

namespace thalweg::compute {

struct Dilation2DShape {
  int64_t batch = 1;
  Window rows, columns;
  int64_t channels = 1;
};

Status Dilation2D(Work& work, DType dtype, const Dilation2DShape& shape, const void* input,
                  const void* filter, void* output);
Status Dilation2DBackwardInput(Work& work, DType dtype, const Dilation2DShape& shape,
                               const void* input, const void* filter, const void* output_grad,
                               void* input_grad);
Status Dilation2DBackwardFilter(Work& work, DType dtype, const Dilation2DShape& shape,
                                const void* input, const void* filter, const void* output_grad,
                                void* filter_grad);

}  // namespace thalweg::compute
