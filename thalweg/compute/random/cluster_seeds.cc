// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/random/cluster_seeds.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "thalweg/compute/interruptible.h"
#include "thalweg/compute/random/philox_fill.h"
#include "thalweg/compute/reduce/nearest.h"

namespace thalweg::compute {
namespace {

// A point drawn evenly for the first place, then with probabilities that grow with `distances`.
int64_t Draw(PhiloxNumbers& numbers, bool first, const float* distances, double total, int64_t n) {
  if (first) {
    const uint64_t low = numbers.Next();
    const uint64_t bits = low | uint64_t{numbers.Next()} << 32;
    return static_cast<int64_t>(bits % static_cast<uint64_t>(n));
  }
  const double target = static_cast<double>(UniformFloat(numbers.Next())) * total;
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    sum += static_cast<double>(distances[i]);
    if (sum >= target) return i;
  }
  return n - 1;
}

double Sum(const float* values, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += static_cast<double>(values[i]);
  return sum;
}

// The distances that are left when point `chosen` joins.
Status Join(Work& work, const ClusterSeeds& s, const float* points, int64_t chosen,
            const float* before, float* after) {
  const int64_t grain = std::max<int64_t>(1, 16384 / std::max<int64_t>(1, s.dims));
  return ForBlocks(work, s.points, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const float distance = SquaredDistance(points + i * s.dims, points + chosen * s.dims, s.dims);
      after[i] = std::min(before[i], distance);
    }
  });
}

}  // namespace

Status KmeansPlusPlus(Work& work, const ClusterSeeds& s, uint64_t seed, const float* points,
                      int64_t* chosen) {
  Scratch<float> distances(work, s.points), tried(work, s.points), best(work, s.points);
  if (!distances || !tried || !best) return OutOfScratch();
  float *now = distances.get(), *trial = tried.get(), *least = best.get();
  std::fill_n(now, s.points, std::numeric_limits<float>::infinity());
  PhiloxNumbers numbers{Philox(seed)};
  for (int64_t place = 0; place < s.wanted; ++place) {
    const double total = place == 0 ? 0 : Sum(now, s.points);
    double least_sum = 0;
    int64_t attempt = 0;
    do {
      const int64_t candidate = Draw(numbers, place == 0, now, total, s.points);
      RETURN_IF_ERROR(Join(work, s, points, candidate, now, trial));
      const double sum = Sum(trial, s.points);
      if (attempt == 0 || sum < least_sum) {
        least_sum = sum;
        chosen[place] = candidate;
        std::swap(trial, least);
      }
    } while (attempt++ < s.retries);
    std::swap(now, least);
  }
  return OkStatus();
}

int64_t KMC2Chain(uint64_t seed, const float* distances, int64_t n) {
  PhiloxNumbers numbers{Philox(seed)};
  int64_t at = 0;
  for (int64_t i = 1; i < n; ++i) {
    LookAtBlocks(static_cast<size_t>(i));
    if (distances[i] > UniformFloat(numbers.Next()) * distances[at]) at = i;
  }
  return at;
}

}  // namespace thalweg::compute
