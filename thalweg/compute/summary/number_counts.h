// SPDX-License-Identifier: Apache-2.0
// NumberCounts: what kinds of numbers a tensor has, for people who look for the bad ones.
//   const NumberCounts c = CountNumbers(dtype, data, n, -INFINITY, INFINITY);
//
// Ownership: a value.
// Threads: any; no state.
// Errors: none; a type without numbers counts as its size.
#pragma once

#include <cstdint>
#include <limits>

#include "thalweg/tensor/dtype.h"

namespace thalweg::compute {

struct NumberCounts {
  int64_t size = 0;
  int64_t nan = 0;
  int64_t below = 0;  // at most the lower bound
  int64_t negative = 0, zero = 0, positive = 0;
  int64_t above = 0;  // at least the upper bound, and not below
  // What the finite numbers have; without any: infinity, -infinity, NaN, NaN.
  double min = std::numeric_limits<double>::infinity();
  double max = -std::numeric_limits<double>::infinity();
  double mean = std::numeric_limits<double>::quiet_NaN();
  double variance = std::numeric_limits<double>::quiet_NaN();
};

// dtype: a real type or bool; others count as nothing but their size.
NumberCounts CountNumbers(DType dtype, const void* data, int64_t n, double lower, double upper);

}  // namespace thalweg::compute
