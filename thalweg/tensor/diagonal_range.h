// SPDX-License-Identifier: Apache-2.0
// DiagonalRange: the argument k of the matrix diagonal operations: a scalar or a vector of one or
// two elements, the lowest and the highest diagonal.
//
//   ASSIGN_OR_RETURN(const DiagonalRange range, DiagonalRangeOf(ctx.input(1)));
//   ASSIGN_OR_RETURN(const DiagonalAlign align, ParseDiagonalAlign("RIGHT_LEFT"));
//
// Ownership: values; keeps nothing of the tensor.
// Threads: any; no state.
// Errors: InvalidArgument that says what was found. Used by shape functions and kernels alike.
#pragma once

#include <cstdint>
#include <string_view>

#include "thalweg/base/status.h"
#include "thalweg/tensor/tensor.h"

namespace thalweg {

struct DiagonalRange {
  int64_t lower = 0;
  int64_t upper = 0;
  int64_t count() const { return upper - lower + 1; }
  // The length of the longest diagonal of a rows x columns matrix.
  int64_t Longest(int64_t rows, int64_t columns) const;
  // InvalidArgument unless both lie in a rows x columns matrix (0 always does).
  Status CheckInside(int64_t rows, int64_t columns) const;
};
Result<DiagonalRange> DiagonalRangeOf(const Tensor& k);

// At which end of their packed rows the diagonals lie.
struct DiagonalAlign {
  bool upper_right = false;
  bool lower_right = false;
};
Result<DiagonalAlign> ParseDiagonalAlign(std::string_view align);

// Rows and columns of a matrix made from diagonals of `longest` elements, where -1 stands for the
// fewest possible.
struct MatrixSize {
  int64_t rows = -1;
  int64_t columns = -1;
};
Result<MatrixSize> MatrixSizeFor(const DiagonalRange& range, int64_t longest, int64_t rows,
                                 int64_t columns);

}  // namespace thalweg
