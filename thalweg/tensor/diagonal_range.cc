// SPDX-License-Identifier: Apache-2.0
#include "thalweg/tensor/diagonal_range.h"

#include <algorithm>

#include "thalweg/tensor/integers.h"

namespace thalweg {

int64_t DiagonalRange::Longest(int64_t rows, int64_t columns) const {
  return std::min(rows + std::min<int64_t>(upper, 0), columns - std::max<int64_t>(lower, 0));
}

Status DiagonalRange::CheckInside(int64_t rows, int64_t columns) const {
  for (const bool is_lower : {true, false}) {
    const int64_t d = is_lower ? lower : upper;
    if (d == 0 || (-rows < d && d < columns)) continue;
    return InvalidArgument(is_lower ? "lower" : "upper", "_diag_index is out of bound: ", d,
                           ". It must be between ", -rows, " and ", columns);
  }
  return OkStatus();
}

Result<DiagonalRange> DiagonalRangeOf(const Tensor& k) {
  if (k.rank() > 1) {
    return InvalidArgument("diag_index must be a scalar or vector, received shape: ", k.shape());
  }
  const int64_t n = k.num_elements();
  if (n < 1 || n > 2) {
    return InvalidArgument("diag_index must have only one or two elements, received ", n,
                           " elements.");
  }
  const DiagonalRange range{IntAt(k, 0), IntAt(k, n - 1)};
  if (range.lower > range.upper) {
    return InvalidArgument("lower_diag_index must not be larger than upper_diag_index: ",
                           range.lower, " > ", range.upper);
  }
  return range;
}

Result<DiagonalAlign> ParseDiagonalAlign(std::string_view align) {
  if (align == "RIGHT_LEFT") return DiagonalAlign{true, false};
  if (align == "LEFT_RIGHT") return DiagonalAlign{false, true};
  if (align == "LEFT_LEFT") return DiagonalAlign{false, false};
  if (align == "RIGHT_RIGHT") return DiagonalAlign{true, true};
  return InvalidArgument("align must be RIGHT_LEFT, LEFT_RIGHT, LEFT_LEFT or RIGHT_RIGHT, got \"",
                         align, "\"");
}

Result<MatrixSize> MatrixSizeFor(const DiagonalRange& range, int64_t longest, int64_t rows,
                                 int64_t columns) {
  const int64_t fewest_rows = longest - std::min<int64_t>(range.upper, 0);
  const int64_t fewest_columns = longest + std::max<int64_t>(range.lower, 0);
  if (rows == -1 && columns == -1) {
    rows = std::max(fewest_rows, fewest_columns);
    columns = rows;
  } else if (rows == -1) {
    rows = fewest_rows;
  } else if (columns == -1) {
    columns = fewest_columns;
  }
  if (rows < fewest_rows || columns < fewest_columns) {
    return InvalidArgument("The number of ", rows < fewest_rows ? "rows" : "columns",
                           " is too small: at least ", fewest_rows, " x ", fewest_columns,
                           " are needed, got ", rows, " x ", columns);
  }
  if (rows != fewest_rows && columns != fewest_columns) {
    return InvalidArgument("The number of rows or columns is not consistent with the specified ",
                           "d_lower, d_upper, and diagonal: one of ", fewest_rows, " x ",
                           fewest_columns, " was expected, got ", rows, " x ", columns);
  }
  return MatrixSize{rows, columns};
}

}  // namespace thalweg
