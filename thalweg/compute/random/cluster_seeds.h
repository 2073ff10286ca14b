// SPDX-License-Identifier: Apache-2.0
// Points to begin a clustering with: k-means++ and a chain of k-MC2, with TensorFlow's bits.
//
//   KmeansPlusPlus(work, {.points = n, .dims = d, .wanted = 5, .retries = 2}, seed, x, chosen);
//
// For each place the one of retries + 1 candidates is taken that leaves the least sum of squared
// distances. 1 <= wanted <= points, 0 <= retries.
// Ownership: points and `chosen` are the caller's.
// Threads: any, each with its own Work.
// Errors: those of work.h.
#pragma once

#include <cstdint>

#include "thalweg/compute/work.h"

namespace thalweg::compute {

struct ClusterSeeds {
  int64_t points = 0, dims = 0, wanted = 1, retries = 0;
};
// `chosen` gets the numbers of `wanted` points.
Status KmeansPlusPlus(Work& work, const ClusterSeeds& sizes, uint64_t seed, const float* points,
                      int64_t* chosen);

// Where a Markov chain over n >= 1 points ends that steps on with the ratio of their distances.
int64_t KMC2Chain(uint64_t seed, const float* distances, int64_t n);

}  // namespace thalweg::compute
