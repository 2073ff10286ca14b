// SPDX-License-Identifier: Apache-2.0
// EditDistances: for pairs of sequences, how many insertions, deletions and substitutions lead from
// one to the other (Levenshtein).
//
//   // sequence k of a: the elements a[order_a[i]] for i in [begin_a[k], begin_a[k + 1])
//   EditDistances(work, dtype, {a, order_a, begin_a}, {b, order_b, begin_b}, pairs, distances);
//
// Element types: all plain ones but quantized, and string. Time: the product of the two lengths,
// one thread a pair.
// Ownership: sequences and distances are the caller's.
// Threads: any, each with its own Work.
// Errors: Unimplemented for another type; those of work.h.
#pragma once

#include <cstdint>

#include "thalweg/compute/work.h"
#include "thalweg/tensor/dtype.h"

namespace thalweg::compute {

struct Sequences {
  const void* values = nullptr;
  const int64_t* order = nullptr;
  const int64_t* begin = nullptr;  // one more than there are sequences
};

Status EditDistances(Work& work, DType dtype, const Sequences& a, const Sequences& b, int64_t pairs,
                     int64_t* distances);

}  // namespace thalweg::compute
