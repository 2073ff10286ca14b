// SPDX-License-Identifier: Apache-2.0
// Counts and sums by bin.
//
//   CountBins(dtype, {.count = n, .bins = 10}, values, rows, weights, out);
//   HistogramFixedWidth<float, int32_t>(reals, 0, 1, counts);  // which of equal intervals
//
// The caller has filled `out` with zeros and checked the sizes. Values at or above `bins` are
// passed over, and so are negative ones. Serial: sums are made in the order of the values. Half and
// bfloat16 bins are added to in float, one rounding an addition.
// Ownership: operands are the caller's; `out` is added to.
// Threads: any; the caller's alone.
// Errors: Unimplemented for another type, InvalidArgument for NaN in a histogram.
#pragma once

#include <span>

#include "thalweg/base/status.h"
#include "thalweg/tensor/dtype.h"

namespace thalweg::compute {

struct BinShape {
  int64_t count = 0;
  int64_t bins = 0;
  bool binary = false;  // 1 for a bin that any value falls into; weights do not matter
};
// One row of bins. `weights` of type `dtype`, null: 1 each. `rows` null, or for each value the row
// of `out` (of `bins` elements) that it goes to. Numbers; others are Unimplemented.
Status CountBins(DType dtype, const BinShape& shape, const int64_t* values, const int64_t* rows,
                 const void* weights, void* out);

// How many of n values fall into each of `out.size()` intervals of equal width between low and
// high; those outside count for the first and last. InvalidArgument for NaN among the values.
template <class T, class Count>
Status HistogramFixedWidth(std::span<const T> values, T low, T high, std::span<Count> out);

}  // namespace thalweg::compute
