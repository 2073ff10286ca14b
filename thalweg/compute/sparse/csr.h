// SPDX-License-Identifier: Apache-2.0
// Matrices in compressed rows: row i has the columns and values [starts[i], starts[i+1]).
//
//   CsrView a{.rows = 2, .columns = 3, .starts = starts, .places = columns, .values = values};
//   TransposeCsr(dtype, a, false, starts_out, places_out, values_out);
//
// Types: float, double and their complex numbers. The caller has checked that starts rise and
// places are columns.
// Ownership: a view points at the caller's arrays; a pattern owns its own.
// Threads: the caller's alone.
// Errors: Unimplemented for another type, ResourceExhausted for more than 2^31 - 1 values.
#pragma once

#include <cstdint>
#include <vector>

#include "thalweg/base/status.h"
#include "thalweg/tensor/dtype.h"

namespace thalweg::compute {

struct CsrView {
  int64_t rows = 0, columns = 0;
  const int32_t* starts = nullptr;
  const int32_t* places = nullptr;
  const void* values = nullptr;
};

// The outputs have columns + 1, count and count elements; each new row is in order of the old rows.
Status TransposeCsr(DType dtype, const CsrView& a, bool conjugate, int32_t* starts, int32_t* places,
                    void* values);

// Values are conjugated in place; real ones stay.
Status ConjugateValues(DType dtype, int64_t n, void* values);

// The product of two matrices, its places in order; ResourceExhausted for more than 2^31 - 1.
struct CsrPattern {
  std::vector<int32_t> starts, places;
};
// Where a product can have values.
Result<CsrPattern> ProductPattern(const CsrView& a, const CsrView& b);
Status ProductValues(DType dtype, const CsrView& a, const CsrView& b, const CsrPattern& pattern,
                     void* values);

}  // namespace thalweg::compute
