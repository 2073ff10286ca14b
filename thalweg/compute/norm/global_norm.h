// SPDX-License-Identifier: Apache-2.0
// Normalization with given moments, and its gradients by everything:
//
//   y = (x - mean) / sqrt(variance + epsilon) * gamma + beta      (gamma null: 1)
//
// x is [rows, channels], the others vectors of channels. Types: float, double; half through float.
// Sums are taken in double, in fixed blocks.
// Ownership: operands are the caller's; nothing is kept.
// Threads: any, each with its own Work.
// Errors: Unimplemented for another type; those of work.h.
#pragma once

#include "thalweg/compute/work.h"
#include "thalweg/tensor/dtype.h"

namespace thalweg::compute {

struct GlobalNormInputs {
  int64_t rows = 0, channels = 0;
  const void* x;
  const void* mean;
  const void* variance;
  const void* gamma = nullptr;
  double epsilon = 0;
};
struct GlobalNormGrads {
  void* x;
  void* mean;
  void* variance;
  void* beta;
  void* gamma;  // zeros without gamma
};

Status GlobalNorm(Work& work, DType dtype, const GlobalNormInputs& in, const void* beta, void* y);
Status GlobalNormGrad(Work& work, DType dtype, const GlobalNormInputs& in, const void* dy,
                      const GlobalNormGrads& out);

}  // namespace thalweg::compute
