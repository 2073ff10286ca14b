// SPDX-License-Identifier: Apache-2.0
// The nearest of a set of centers, for each point of a set.
//
//   NearestCenters(work, {.points = n, .centers = m, .dims = d, .k = 3}, x, c, which, distances);
//
// Distances are squared and Euclidean. Nearest first; of equally near ones that with the lower
// index; NaN is farther than everything. 0 <= k <= centers.
// Ownership: operands are the caller's; nothing is kept.
// Threads: any, each with its own Work.
// Errors: those of work.h.
#pragma once

#include <cstdint>

#include "thalweg/compute/work.h"

namespace thalweg::compute {

struct NearestShape {
  int64_t points = 0, centers = 0, dims = 0, k = 0;
};
// `which` and `distances` get [points, k].
Status NearestCenters(Work& work, const NearestShape& shape, const float* points,
                      const float* centers, int64_t* which, float* distances);

// The squared distance of two points.
float SquaredDistance(const float* a, const float* b, int64_t dims);

}  // namespace thalweg::compute
