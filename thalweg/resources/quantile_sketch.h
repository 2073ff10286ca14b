// SPDX-License-Identifier: Apache-2.0
// QuantileSketch: weighted quantiles of a stream of values, with an error of `epsilon` in the rank,
// in memory that grows with the logarithm of the stream.
//
//   QuantileSketch sketch(0.01, values.size() + 1);
//   RETURN_IF_ERROR(sketch.AddValues(work, values, weights));
//   const QuantileSummary summary = sketch.Finish();   // sorted, with bounds of each rank
//   std::vector<float> deciles = QuantileValues(summary, 11);
//
// Full buffers become summaries; two summaries of a level are merged, cut down and moved one level
// up, as TensorFlow's streams do it, so that the entries are the same bit by bit.
// Ownership: a value.
// Threads: one at a time.
// Errors: Cancelled.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "thalweg/base/status.h"
#include "thalweg/compute/work.h"

namespace thalweg {

// One value of a summary: the weight of what equals it, and between which ranks that begins and
// ends.
struct QuantileEntry {
  float value, weight, min_rank, max_rank;
  float rank_after() const { return min_rank + weight; }
  float rank_before() const { return max_rank - weight; }
};

using QuantileSummary = std::vector<QuantileEntry>;

class QuantileSketch {
 public:
  // epsilon > 0. `max_values`: how many values are expected.
  QuantileSketch(double epsilon, int64_t max_values);

  // Values with weights above zero count. None is NaN.
  Status AddValues(compute::Work& work, std::span<const float> values,
                   std::span<const float> weights);
  // One summary, in any order.
  void Add(QuantileSummary summary);
  // Everything that was added, in one summary; then the sketch is empty.
  QuantileSummary Finish();
  size_t num_entries() const;

 private:
  void Propagate(QuantileSummary local);

  double epsilon_;
  int64_t block_size_, buffer_size_;
  std::vector<QuantileSummary> levels_;
};

// At least `count` values that part the weight of the summary about evenly, each once; none of an
// empty one.
std::vector<float> BoundaryValues(const QuantileSummary& summary, int64_t count);
// The values at `count` even ranks, the first and the last among them: at least 3. None of an empty
// summary. Looks at the Interruption of the caller.
std::vector<float> QuantileValues(const QuantileSummary& summary, int64_t count);

}  // namespace thalweg
