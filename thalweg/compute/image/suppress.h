// SPDX-License-Identifier: Apache-2.0
// Non-maximum suppression: of boxes that overlap, the one with the greatest score stays.
//
//   ASSIGN_OR_RETURN(const std::vector<Selected> kept, Suppress(work, n, scores, rule, overlap));
//
// A box is two opposite corners, in any order. Selected in the order of falling scores, the lower
// index first among equals; a score that is no number is never selected.
// Ownership: scores and boxes are the caller's; what is selected is given away.
// Threads: the caller's alone.
// Errors: Cancelled between boxes.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "thalweg/compute/work.h"

namespace thalweg::compute {

struct SuppressRule {
  int64_t most = 0;      // as many are selected at most
  float overlap = 0;     // above this a box gives way, unless boxes only lose score
  float score = 0;       // only boxes above this count
  float soft_sigma = 0;  // above 0: overlapping boxes lose score, exp(-overlap^2 / (2 sigma))
};
struct Selected {
  int64_t index;
  float score;
};

// overlap(i, j) of two boxes, in [0, 1].
Result<std::vector<Selected>> Suppress(const Work& work, int64_t n, const float* scores,
                                       const SuppressRule& rule,
                                       const std::function<float(int64_t, int64_t)>& overlap);
// Intersection over union; nothing for boxes without area.
float BoxOverlap(const float* a, const float* b);

}  // namespace thalweg::compute
