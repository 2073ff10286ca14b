// SPDX-License-Identifier: Apache-2.0
// Histogram of numbers in buckets that grow by a tenth, from 1e-12 to 1e20 on both sides of zero,
// as summaries have it.
// Ownership: a value.
// Threads: any; the caller's alone.
// Errors: InvalidArgument that says "Nan" or "Infinity"; Cancelled.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "thalweg/base/status.h"
#include "thalweg/compute/work.h"
#include "thalweg/tensor/dtype.h"

namespace thalweg::compute {

struct Histogram {
  double min = std::numeric_limits<double>::max();
  double max = std::numeric_limits<double>::lowest();
  double num = 0, sum = 0, sum_squares = 0;
  // Only the last one of each run of empty buckets stands here. counts[i] values are below
  // limits[i], and not below the limit before.
  std::vector<double> limits, counts;
};

// InvalidArgument that says "Nan" or "Infinity" when there is one among the values.
Result<Histogram> HistogramOf(const Work& work, DType dtype, const void* values, int64_t count);

}  // namespace thalweg::compute
