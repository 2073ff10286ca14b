// SPDX-License-Identifier: Apache-2.0
// SplitSearch: the best split of one node, from sums of gradients and hessians by bucket.
//
//   SplitSearch search(terms);
//   search.SetTotal(total);   // of all examples of the node: enough of them?
//   if (search.is_heavy()) search.Try({.dimension = d, .bucket = b}, left, right);
//   if (search.found()) Use(search.best(), search.gain());
//
// Sums are rows of gradients, then hessians. Of equal gains the first tried stays.
// Ownership: copies what it is given.
// Threads: one at a time.
// Errors: none; found() is false where nothing gains.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "thalweg/ops/boosted_trees/split_gain.h"

namespace thalweg {

struct SplitTerms {
  float l1 = 0, l2 = 0, tree_complexity = 0, min_node_weight = 0;
  int64_t logits = 1;
  int64_t hessians = 1;  // one, one for each logit, or a matrix of them
  size_t stats() const { return static_cast<size_t>(logits + hessians); }
};

struct SplitPlace {
  int32_t feature = 0, dimension = 0, bucket = 0;
  enum class Type : uint8_t { kDefaultLeft, kDefaultRight, kEquality } type = Type::kDefaultLeft;
};

class SplitSearch {
 public:
  explicit SplitSearch(const SplitTerms& terms)
      : terms_(terms),
        left_(static_cast<size_t>(terms.logits)),
        right_(left_.size()),
        best_left_(left_.size()),
        best_right_(left_.size()) {}

  void SetTotal(std::span<const float> total) {
    float squares = 0;
    const auto hessians = total.subspan(static_cast<size_t>(terms_.logits));
    for (const float h : hessians) squares += h * h;
    const float norm = hessians.size() == 1 ? std::abs(hessians[0]) : std::sqrt(squares);
    is_heavy_ = !(norm < terms_.min_node_weight);
    parent_gain_ = GainOf(total, left_);
    best_gain_ = std::numeric_limits<float>::lowest();
    found_ = false;
  }
  bool is_heavy() const { return is_heavy_; }

  void Try(const SplitPlace& place, std::span<const float> left, std::span<const float> right) {
    const float gain = GainOf(left, left_) + GainOf(right, right_);
    if (!IsLargerGain(gain, best_gain_)) return;
    found_ = true;
    best_gain_ = gain;
    best_ = place;
    best_left_.swap(left_);
    best_right_.swap(right_);
  }

  bool found() const { return found_; }
  const SplitPlace& best() const { return best_; }
  // What the split gains over the node as it is.
  float gain() const { return best_gain_ - parent_gain_ - terms_.tree_complexity; }
  std::span<const float> left() const { return best_left_; }
  std::span<const float> right() const { return best_right_; }

 private:
  float GainOf(std::span<const float> sums, std::vector<float>& weights) const {
    if (sums.size() == 2) {
      const LeafValue leaf = WeightAndGain(sums[0], sums[1], terms_.l1, terms_.l2);
      weights[0] = leaf.weight;
      return leaf.gain;
    }
    const auto logits = static_cast<size_t>(terms_.logits);
    return WeightsAndGain(sums.first(logits), sums.subspan(logits), terms_.l2, weights);
  }

  const SplitTerms terms_;
  bool is_heavy_ = false, found_ = false;
  float parent_gain_ = 0, best_gain_ = 0;
  SplitPlace best_;
  std::vector<float> left_, right_, best_left_, best_right_;
};

}  // namespace thalweg
