// SPDX-License-Identifier: Apache-2.0
// Pooling over the middle dimensions of [batch, (planes,) rows, columns, channels], and its
// gradients.
//
//   ASSIGN_OR_RETURN(Window rows, MakeWindow(in_rows, 2, 2, 1, Padding::kValid));   // and columns
//   PoolShape shape{.batch = 8, .rows = rows, .columns = columns, .channels = 64};
//   RETURN_IF_ERROR(MaxPool(work, dtype, shape, x, y));
//
// Types: maximum: real numbers; average: float, double, half, bfloat16 (the latter two through
// float). Places outside the input do not count, neither as values nor in the divisor of an
// average. A window that sees nothing gives the least finite value (maximum) or NaN (average). NaN,
// as in TensorFlow: MaxPool ignores it, and no result is below the least finite value; for places
// and gradients the first largest place of a window in row-major order counts, and NaN holds that
// place only when it comes first.
// Ownership: operands are the caller's; nothing is kept.
// Threads: any, each with its own Work.
// Errors: Unimplemented for another type, InvalidArgument for a place outside its image; those of
// work.h.
#pragma once

#include "thalweg/compute/conv/window.h"
#include "thalweg/compute/work.h"
#include "thalweg/tensor/dtype.h"

namespace thalweg::compute {

struct PoolShape {
  int64_t batch = 1;
  Window rows, columns;
  int64_t channels = 1;
  Window planes{};  // one, unless given

  int64_t InPixels() const { return planes.input * rows.input * columns.input; }
  int64_t OutPixels() const { return planes.output * rows.output * columns.output; }
};

Status MaxPool(Work& work, DType dtype, const PoolShape& shape, const void* in, void* out);
// places[i]: where output i came from, as ((plane * rows + row) * columns + column) * channels +
// channel, counted over the batch when include_batch. out may be null.
Status MaxPoolPlaces(Work& work, DType dtype, const PoolShape& shape, bool include_batch,
                     const void* in, void* out, int64_t* places);
// in_grad = sum over windows of out_grad at the window's place.
Status MaxPoolGrad(Work& work, DType dtype, const PoolShape& shape, const void* in,
                   const void* out_grad, void* in_grad);
// The same, each window's at every place that has its maximum. float, half, bfloat16.
Status MaxPoolGradOfEquals(Work& work, DType dtype, const PoolShape& shape, const void* in,
                           const void* out_grad, void* in_grad);

// in_grad[places[i]] += out_grad[i] within each image; places count within the image, or over the
// batch when include_batch. InvalidArgument for one outside its image.
Status MaxPoolGradOfPlaces(Work& work, DType dtype, const PoolShape& shape, bool include_batch,
                           const int64_t* places, const void* out_grad, void* in_grad);

Status AvgPool(Work& work, DType dtype, const PoolShape& shape, const void* in, void* out);
Status AvgPoolGrad(Work& work, DType dtype, const PoolShape& shape, const void* out_grad,
                   void* in_grad);

}  // namespace thalweg::compute
