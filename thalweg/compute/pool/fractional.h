// SPDX-License-Identifier: Apache-2.0
// Fractional pooling (Graham, "Fractional max-pooling"): the rows and columns of an image are cut
// into runs of unequal length, and each pair of runs is a window.
//
//   Philox random(seed, seed2);
//   const auto rows = FractionalCuts(random, 17, 12, /*pseudo_random=*/true);   // 0, 2, 3, ... 17
//   FractionalShape shape{.batch = 8, .rows = 17, .columns = 12, .channels = 3, .row_cuts = rows,
//                         .column_cuts = columns};
//   RETURN_IF_ERROR(FractionalPool(work, dtype, true, shape, x, y));
//
// Window i reaches from cut i up to cut i + 1, and, overlapping, includes that one too. Cuts beyond
// the image are cut off; no window may be empty (CheckCuts). Types: float, double, int32, int64
// (averages are rounded towards zero, sums wrap). The gradient of the maximum goes to the first
// largest place in row-major order.
// Ownership: cuts and operands are the caller's; a generator moves on.
// Threads: any, each with its own Work and generator.
// Errors: Unimplemented for another type, InvalidArgument of CheckCuts; those of work.h.
#pragma once

#include <span>
#include <vector>

#include "thalweg/base/philox.h"
#include "thalweg/compute/work.h"
#include "thalweg/tensor/dtype.h"

namespace thalweg::compute {

struct FractionalShape {
  int64_t batch = 1, rows = 1, columns = 1, channels = 1;
  std::span<const int64_t> row_cuts, column_cuts;
  bool overlapping = false;

  int64_t OutRows() const { return static_cast<int64_t>(row_cuts.size()) - 1; }
  int64_t OutColumns() const { return static_cast<int64_t>(column_cuts.size()) - 1; }
};

// 0 = c[0] < c[1] < ... < c[output] = input, runs of input / output and one more; 1 <= output <=
// input. TensorFlow's for the same generator; begins with a fresh block of it.
std::vector<int64_t> FractionalCuts(Philox& random, int64_t input, int64_t output,
                                    bool pseudo_random);
// InvalidArgument unless every window has a place inside.
Status CheckCuts(const FractionalShape& shape);

Status FractionalPool(Work& work, DType dtype, bool maximum, const FractionalShape& shape,
                      const void* in, void* out);
// `in` is read for the maximum only.
Status FractionalPoolGrad(Work& work, DType dtype, bool maximum, const FractionalShape& shape,
                          const void* in, const void* out_grad, void* in_grad);

}  // namespace thalweg::compute
