// SPDX-License-Identifier: Apache-2.0
// Stochastic dual coordinate ascent (Shalev-Shwartz and Zhang 2013) for linear models: the sum of
// the examples' losses plus l2 / 2 |w|^2 + l1 |w|.
//
//   RETURN_IF_ERROR(RunSdca(work, problem, state, deltas));
//
// state [examples, 4]: the dual variable goes in; out come it, the primal and the dual loss before
// the call, the example's weight. deltas: what is to be added to each weight. Examples come in a
// random order, which is the same in every call; when `adaptive`, they are drawn by how far their
// dual variables are from optimal (Csiba, Qu and Richtarik 2015). Serial.
// Ownership: problem, state and deltas are the caller's.
// Threads: any; the caller's alone.
// Errors: Cancelled between rounds.
#pragma once

#include <span>

#include "thalweg/compute/work.h"

namespace thalweg::compute {

enum class SdcaLoss : uint8_t { kLogistic, kSquared, kHinge, kSmoothHinge, kPoisson };

struct SdcaFeature {
  int64_t weight = 0;  // which of the weights
  float value = 0;
};

struct SdcaProblem {
  SdcaLoss loss = SdcaLoss::kLogistic;
  double l1 = 0, l2 = 1;
  double partitions = 1;   // of the data, each solved by itself
  int64_t iterations = 1;  // over all examples
  bool adaptive = false;
  int64_t examples = 0;
  const int64_t* starts = nullptr;  // of each example's features; one more than examples
  const SdcaFeature* features = nullptr;
  std::span<const float> weights;
  const float* labels = nullptr;           // of classes: 0 or 1; of a Poisson loss: not negative
  const float* example_weights = nullptr;  // how much each example counts
};

Status RunSdca(Work& work, const SdcaProblem& problem, float* state, float* deltas);

// Towards zero by `amount`, not beyond it.
double ShrinkWeight(double weight, double amount);

}  // namespace thalweg::compute
