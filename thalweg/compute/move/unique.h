// SPDX-License-Identifier: Apache-2.0
// Rows that are equal, found by hashing.
//
//   // x[first[k]] is the k-th distinct row in the order of appearance; x[i] equals
//   // x[first[index[i]]]
//   ASSIGN_OR_RETURN(int64_t distinct, UniqueRows(work, dtype, n, 1, x, first, index));
//
// Equality is that of the element type: 0 and -0 are equal, NaN equals nothing, not even itself.
// Element types: real numbers, bool, string. One thread: every row depends on those before it.
// Ownership: rows, `first`, `index` and `kept` are the caller's.
// Threads: any, each with its own Work.
// Errors: Unimplemented for another type; those of work.h.
#pragma once

#include <cstdint>

#include "thalweg/compute/work.h"
#include "thalweg/tensor/dtype.h"

namespace thalweg::compute {

// n rows of `width` elements. `first` and `index` have room for n numbers each.
Result<int64_t> UniqueRows(Work& work, DType dtype, int64_t n, int64_t width, const void* rows,
                           int64_t* first, int64_t* index);

// The positions in x (n elements) of what is not in y (m elements), in order; `kept` has room for
// n.
Result<int64_t> AbsentElements(Work& work, DType dtype, int64_t n, const void* x, int64_t m,
                               const void* y, int64_t* kept);

}  // namespace thalweg::compute
