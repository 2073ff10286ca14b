// SPDX-License-Identifier: Apache-2.0
// Conv2D and its two gradients, by matrix products over tiles gathered from the image (no whole
// im2col copy).
//
//   ASSIGN_OR_RETURN(Window rows, MakeWindow(224, 7, 2, 1, Padding::kSame));   // and columns
//   Conv2DShape shape{
//       .batch = 8, .rows = rows, .columns = columns, .in_channels = 3, .out_channels = 64};
//   RETURN_IF_ERROR(Conv2D(work, DType::kFloat, shape, input, filter, output,
//                          {.bias = bias, .relu = true}));
//
// Layouts: the filter is [rows, columns, in, out]; images are [batch, rows, columns, channels], or,
// with channels_first, [batch, channels, rows, columns], which costs a transposed copy of each
// image operand. Types: float, double; half and bfloat16 through float (bfloat16 by AMX or
// AVX512_BF16 where conv2d_bfloat16.h has a way); int32 by plain loops (wrapping). Empty sizes are
// fine: sums over nothing are zero. Bits do not depend on the number of threads. The epilogue has
// GemmEpilogue's meaning, n being out_channels; its residual has the output's layout and must be
// null with channels_first or groups. With groups, the filter is [rows, columns, in / groups, out]
// and part g of the input's channels makes part g of the output's. With plans, float convolutions
// may be oneDNN's (conv_plans.h): other bits, but still the same for any number of threads.
// Ownership: operands are the caller's; a keeper and plans outlive the call and keep what they are
// given.
// Threads: any, each with its own Work; plans lock for themselves, a keeper is of one call.
// Errors: Unimplemented for another type or a residual that it cannot have; those of work.h.
#pragma once

#include <cstdint>
#include <string_view>

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

// Keeps the filter of one kernel in packed form from call to call. Of one call, in one thread.
class PackedFilterCache {
 public:
  virtual ~PackedFilterCache() = default;
  // What is kept of this filter in this format (any bytes), for as long as the keeper lives; null
  // when there is nothing yet.
  virtual const float* Find(std::string_view format) = 0;
  // Room for a packed filter; null when memory is refused. Once it is filled, Keep.
  virtual float* Allocate(int64_t floats) = 0;
  virtual void Keep(std::string_view format) = 0;
};

struct ConvFilter {
  ConvFilter(const void* filter) : values(filter) {}  // NOLINT: any pointer is a filter
  ConvFilter(const void* filter, const float* out_scale, PackedFilterCache* kept)
      : values(filter), scale(out_scale), keeper(kept) {}

  const void* values;
  // The filter of each output channel of a float convolution is multiplied by its scale. What is
  // kept includes it.
  const float* scale = nullptr;
  PackedFilterCache* keeper = nullptr;  // of float convolutions without groups; not owned
};

Status Conv2D(Work& work, DType dtype, const Conv2DShape& shape, const void* input,
              const ConvFilter& filter, void* output, const GemmEpilogue& epilogue = {},
              ConvPlans* plans = nullptr);

Status Conv2DBackwardInput(Work& work, DType dtype, const Conv2DShape& shape,
                           const ConvFilter& filter, const void* output_grad, void* input_grad,
                           ConvPlans* plans = nullptr);

Status Conv2DBackwardFilter(Work& work, DType dtype, const Conv2DShape& shape, const void* input,
                            const void* output_grad, void* filter_grad, ConvPlans* plans = nullptr);

}  // namespace thalweg::compute
