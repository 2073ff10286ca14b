// SPDX-License-Identifier: Apache-2.0
// MultiplySparse: a sparse matrix times a dense one.
//   out[row(i), :] += values[i] * b[column(i), :]      // for all i, in their order
//
// Ownership: operands are the caller's; nothing is kept.
// Threads: any, each with its own Work; they divide the columns.
// Errors: Unimplemented for another type; those of work.h.
#pragma once

#include <cstdint>

#include "thalweg/compute/work.h"
#include "thalweg/tensor/dtype.h"

namespace thalweg::compute {

// The sizes are of the product: a, after it is turned, is [rows, inner], the output [rows,
// columns].
struct SparseProduct {
  int64_t count = 0;  // of values
  int64_t rows = 0, inner = 0, columns = 0;
  bool adjoint_a = false, adjoint_b = false;
};

// places: count pairs of row and column of a as it is given, checked. Threads divide the columns.
// Floats and complex numbers, and int32; others are Unimplemented.
Status MultiplySparse(Work& work, DType dtype, const SparseProduct& product, const int64_t* places,
                      const void* values, const void* b, void* out);

}  // namespace thalweg::compute
