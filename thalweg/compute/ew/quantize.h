// SPDX-License-Identifier: Apache-2.0
// Real numbers put on the grid of an integer type and back: what quantization does to a model.
//
//   const FakeQuantGrid grid(-6, 6, 8, false);   // a grid with 0 on it
//   FakeQuant(work, &grid, n, 1, x, y);          // y on the grid, inside its range
//
// A NaN stays one. Sums are in double, in fixed blocks.
// Ownership: operands are the caller's; a grid is a value.
// Threads: any, each with its own Work.
// Errors: Unimplemented for another type; those of work.h.
#pragma once

#include <cstdint>

#include "thalweg/compute/work.h"
#include "thalweg/tensor/dtype.h"

namespace thalweg::compute {

// The grid of 2^bits - 1 steps (one less with `narrow`) over [low, high], moved so that 0 is on it.
struct FakeQuantGrid {
  FakeQuantGrid() = default;
  FakeQuantGrid(float from, float to, int bits, bool narrow);
  float low = 0;
  float high = 0;
  float scale = 0;
  bool empty = false;  // the range [0, 0]: everything becomes 0
};

// x and y have `rows` rows of `channels` elements, grids[c] is that of channel c.
Status FakeQuant(Work& work, const FakeQuantGrid* grids, int64_t rows, int64_t channels,
                 const float* x, float* y);
// The gradient goes through inside of the range; below it goes to the lower end's, above to the
// upper end's, which are summed over the rows (to_low and to_high may be null).
Status FakeQuantGrad(Work& work, const FakeQuantGrid* grids, int64_t rows, int64_t channels,
                     const float* dy, const float* x, float* dx, float* to_low, float* to_high);

// How QuantizeAndDequantize rounds: to even, or up, when two neighbors are equally near.
struct QuantizeSpec {
  int bits = 8;
  bool is_signed = true;
  bool narrow = false;
  bool round_up = false;
  bool clamp = false;  // to the range, which is given; else it is that of the elements
};

// A tensor seen as [outer, channels, inner]; ranges [low[c], high[c]] when spec.clamp. Float and
// double; others are Unimplemented.
struct GridShape {
  int64_t outer = 1;
  int64_t channels = 1;
  int64_t inner = 1;
};
Status QuantizeAndDequantize(Work& work, DType dtype, const QuantizeSpec& spec,
                             const GridShape& shape, const void* x, const void* low,
                             const void* high, void* y);
// dx = dy where low[c] <= x <= high[c], 0 elsewhere.
Status PassInside(Work& work, DType dtype, const GridShape& shape, const void* dy, const void* x,
                  const void* low, const void* high, void* dx);

}  // namespace thalweg::compute
