// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/reduce/nearest.h"

#include <algorithm>
#include <cmath>

#include "thalweg/compute/sort.h"

namespace thalweg::compute {
namespace {

struct Candidate {
  float distance;
  int64_t center;
  bool operator<(const Candidate& other) const {
    const bool nan = std::isnan(distance), other_nan = std::isnan(other.distance);
    if (nan != other_nan) return other_nan;
    if (!nan && distance != other.distance) return distance < other.distance;
    return center < other.center;
  }
};

}  // namespace

float SquaredDistance(const float* a, const float* b, int64_t dims) {
  constexpr int64_t kLanes = 8;  // sums that do not wait for each other
  float sums[kLanes] = {};
  int64_t d = 0;
  for (; d + kLanes <= dims; d += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      const float difference = a[d + lane] - b[d + lane];
      sums[lane] += difference * difference;
    }
  }
  for (; d < dims; ++d) sums[d % kLanes] += (a[d] - b[d]) * (a[d] - b[d]);
  float total = 0;
  for (float sum : sums) total += sum;
  return total;
}

Status NearestCenters(Work& work, const NearestShape& s, const float* points, const float* centers,
                      int64_t* which, float* distances) {
  if (s.k == 0) return OkStatus();
  constexpr int64_t kShard = 1 << 16;  // products of a shard
  const int64_t grain = std::max<int64_t>(1, kShard / (s.centers * std::max<int64_t>(1, s.dims)));
  return ForShards(work, (s.points + grain - 1) / grain, [&](int64_t shard) {
    Scratch<Candidate> found(work, s.centers);
    if (!found) return false;
    const int64_t end = std::min(s.points, (shard + 1) * grain);
    for (int64_t i = shard * grain; i < end; ++i) {
      for (int64_t c = 0; c < s.centers; ++c) {
        found[c] = {SquaredDistance(points + i * s.dims, centers + c * s.dims, s.dims), c};
      }
      if (!PartialSort(work, found.get(), found.get() + s.k, found.get() + s.centers).ok()) {
        return true;  // cancelled, as ForShards will say
      }
      for (int64_t j = 0; j < s.k; ++j) {
        which[i * s.k + j] = found[j].center;
        distances[i * s.k + j] = found[j].distance;
      }
    }
    return true;
  });
}

}  // namespace thalweg::compute
