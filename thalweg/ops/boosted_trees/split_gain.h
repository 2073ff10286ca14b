// SPDX-License-Identifier: Apache-2.0
// WeightAndGain: what a leaf should add, and what that gains, given the sums of gradients and
// hessians of its examples: of one logit, or of several, without the L1 term then.
//
//   const LeafValue leaf = WeightAndGain(gradient, hessian, l1, l2);
//   const float gain = WeightsAndGain(gradients, hessians, l2, weights);   // of several logits
//
// Ownership: spans of the caller.
// Threads: any.
// Errors: none; a logit without a hessian adds nothing.
#pragma once

#include <cmath>
#include <span>

namespace thalweg {

struct LeafValue {
  float weight = 0;
  float gain = 0;
};

inline LeafValue WeightAndGain(float gradient, float hessian, float l1, float l2) {
  constexpr float kEpsilon = 1e-15F;
  if (l1 > 0) {
    if (gradient > l1) {
      gradient -= l1;
    } else if (gradient < -l1) {
      gradient += l1;
    } else {
      return {};
    }
  }
  if (hessian + l2 <= kEpsilon) return {};
  const float weight = -gradient / (hessian + l2);
  return {weight, -gradient * weight};
}

// Hessians are those of each logit, or the whole matrix, row by row. A logit whose hessian is zero
// adds nothing.
float WeightsAndGain(std::span<const float> gradients, std::span<const float> hessians, float l2,
                     std::span<float> weights);

// Differences below this are no better split.
constexpr float kGainTolerance = 1e-15F;
inline bool AreEqualGains(float a, float b) { return std::abs(a - b) < kGainTolerance; }
inline bool IsLargerGain(float a, float b) { return a - b >= kGainTolerance; }

}  // namespace thalweg
