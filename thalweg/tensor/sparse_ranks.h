// SPDX-License-Identifier: Apache-2.0
// CheckSparseRanks: the ranks of the three parts of a sparse tensor, in TensorFlow's words.
//
//   RETURN_IF_ERROR(CheckSparseRanks(indices.rank(), values.rank(), dense_shape.rank()));
//
// Used by shape functions and kernels alike: a rank below 0 is not known.
// Ownership: none; three numbers.
// Threads: any.
// Errors: InvalidArgument that names the part and both ranks.
#pragma once

#include <cstdint>
#include <string_view>

#include "thalweg/base/status.h"

namespace thalweg {

// InvalidArgument unless indices are a matrix, values and shape vectors.
inline Status CheckSparseRanks(int64_t indices, int64_t values, int64_t shape) {
  struct Part {
    std::string_view name;
    int64_t rank, wanted;
  };
  for (const Part& part :
       {Part{"indices", indices, 2}, {"values", values, 1}, {"shape", shape, 1}}) {
    if (part.rank < 0 || part.rank == part.wanted) continue;
    return InvalidArgument("Sparse ", part.name, " must be rank ", part.wanted, " but is rank ",
                           part.rank);
  }
  return OkStatus();
}

}  // namespace thalweg
