// SPDX-License-Identifier: Apache-2.0
// Binary search in sorted rows.
//
//   // out[b, i] = the first place in sorted row b (n long) whose element is not below values[b, i]
//   SearchRows(work, dtype, false, {.batch = 2, .sorted = n, .values = m}, sorted, values, out);
//
// With `upper`, the first place whose element is above it. NaN is below nothing: it goes to the
// front, or with `upper` to the end. Element types: real numbers.
// Ownership: operands are the caller's; nothing is kept.
// Threads: any, each with its own Work.
// Errors: Unimplemented for another type; those of work.h.
#pragma once

#include <cstdint>
#include <span>

#include "thalweg/compute/work.h"
#include "thalweg/tensor/dtype.h"

namespace thalweg::compute {

struct SearchShape {
  int64_t batch = 1;
  int64_t sorted = 0;  // elements of a sorted row
  int64_t values = 0;  // values sought in each row
};
Status SearchRows(Work& work, DType dtype, bool upper, const SearchShape& shape, const void* sorted,
                  const void* values, int64_t* out);

// out[i] = how many of the ascending boundaries are not above x[i]; float, double, int32, int64.
// Integers are compared as floats.
Status Bucketize(Work& work, DType dtype, std::span<const float> boundaries, int64_t n,
                 const void* x, int32_t* out);

}  // namespace thalweg::compute
