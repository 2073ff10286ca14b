// SPDX-License-Identifier: Apache-2.0
// Row splits: where the rows of a ragged dimension begin and end among the values: [0, 2, 2, 5] are
// rows of two, none and three.
//   ASSIGN_OR_RETURN(const Splits splits, SplitsOf(ctx.input(0), values, Cover::kWhole));
// Ownership: the splits are a copy.
// Threads: any; no state.
// Errors: InvalidArgument for splits that are no vector, are empty, go down, or do not cover the
// values.
#pragma once

#include <cstdint>
#include <vector>

#include "thalweg/tensor/tensor.h"

namespace thalweg {

using Splits = std::vector<int64_t>;

// kWhole: the rows are all the values; kPart: the first split may be more than 0, the last one
// less.
enum class Cover { kWhole, kPart };

// The elements of `tensor`, of int32 or int64, checked against the number of values.
Result<Splits> SplitsOf(const Tensor& tensor, int64_t values, Cover cover);

}  // namespace thalweg
