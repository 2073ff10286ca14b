// SPDX-License-Identifier: Apache-2.0
// Images of another size: [batch, rows, columns, channels] to [batch, out_rows, out_columns,
// channels], bilinear or by the nearest pixel, and the gradients of both.
//
//   ResizeShape shape{.batch = 8, .rows = 32, .columns = 32, .out_rows = 64, .out_columns = 64,
//                     .channels = 3};
//   RETURN_IF_ERROR(ResizeBilinear(work, DType::kUint8, shape, x, y));      // y is float
//
// No size may be zero, and only one of align_corners and half_pixel_centers be set. Places are
// computed in float, as TensorFlow does. Types: real numbers.
// Ownership: operands are the caller's; nothing is kept.
// Threads: any, each with its own Work.
// Errors: Unimplemented for another type; those of work.h.
#pragma once

#include "thalweg/compute/work.h"
#include "thalweg/tensor/dtype.h"

namespace thalweg::compute {

struct ResizeShape {
  int64_t batch = 1, rows = 1, columns = 1, out_rows = 1, out_columns = 1, channels = 1;
  bool align_corners = false;       // the centers of the corner pixels stay where they are
  bool half_pixel_centers = false;  // pixel i reaches from i to i + 1, else from i - 1/2
};

Status ResizeBilinear(Work& work, DType dtype, const ResizeShape& shape, const void* input,
                      float* output);
// For floating types; doubles are computed in double, others in float.
Status ResizeBilinearSameType(Work& work, DType dtype, const ResizeShape& shape, const void* input,
                              void* output);
// Levels of quint8 are computed in fixed point with weights of 7 bits, as in TensorFlow, those of
// qint32 in double.
Status ResizeBilinearLevels(Work& work, DType dtype, const ResizeShape& shape, const void* input,
                            void* output);
// input_grad is of `dtype`, a floating one.
Status ResizeBilinearGrad(Work& work, DType dtype, const ResizeShape& shape,
                          const float* output_grad, void* input_grad);
Status ResizeNearest(Work& work, DType dtype, const ResizeShape& shape, const void* input,
                     void* output);
// Sums of narrow types are rounded once.
Status ResizeNearestGrad(Work& work, DType dtype, const ResizeShape& shape, const void* output_grad,
                         void* input_grad);

}  // namespace thalweg::compute
