// SPDX-License-Identifier: Apache-2.0
// Diagonals of a batch of matrices, packed and unpacked; bands.
//
// The packed form has one row of `longest` elements for each diagonal, the highest first; shorter
// diagonals lie at its left or right end. Diagonal d holds the elements (i, i + d).
//
//   // packed[b, upper - d, offset + n] = matrices[b, n + max(-d, 0), n + max(d, 0)]
//   PackDiagonals(work, dtype, shape, matrices, packed);      // leaves what is beside them alone
//   UnpackDiagonals(work, dtype, shape, packed, matrices);    // leaves the other elements alone
//
// Element types: all.
// Ownership: operands are the caller's; nothing is kept.
// Threads: any, each with its own Work.
// Errors: InvalidArgument for a type without elements; those of work.h.
#pragma once

#include <algorithm>
#include <cstdint>

#include "thalweg/compute/work.h"
#include "thalweg/tensor/dtype.h"

namespace thalweg::compute {

struct DiagonalShape {
  int64_t batch = 1;
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t lower = 0;  // the lowest diagonal
  int64_t upper = 0;  // the highest
  int64_t longest = 0;
  bool upper_right = false;  // diagonals from 0 up lie at the right end of their row
  bool lower_right = false;  // those below 0

  int64_t count() const { return upper - lower + 1; }
  int64_t length(int64_t d) const {
    return std::max<int64_t>(
        0, std::min({rows + std::min<int64_t>(d, 0), columns - std::max<int64_t>(d, 0), longest}));
  }
};

Status PackDiagonals(Work& work, DType dtype, const DiagonalShape& shape, const void* matrices,
                     void* packed);
Status UnpackDiagonals(Work& work, DType dtype, const DiagonalShape& shape, const void* packed,
                       void* matrices);

// out = in where -below <= j - i <= above, zero elsewhere; a negative bound is none.
Status KeepBand(Work& work, DType dtype, int64_t batch, int64_t rows, int64_t columns,
                int64_t below, int64_t above, const void* in, void* out);

}  // namespace thalweg::compute
