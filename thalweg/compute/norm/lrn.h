// SPDX-License-Identifier: Apache-2.0
// Local response normalization over the last dimension, and its gradient.
//
//   y[c] = x[c] / n[c]^beta,   n[c] = bias + alpha * sum of x[k]^2 over |k - c| <= radius
//
//   Lrn(work, DType::kFloat, rows, channels, {.radius = 5}, x, y);
//
// Types: float; half through float. radius >= 0.
// Ownership: operands are the caller's; nothing is kept.
// Threads: any, each with its own Work.
// Errors: Unimplemented for another type; those of work.h.
#pragma once

#include "thalweg/compute/work.h"
#include "thalweg/tensor/dtype.h"

namespace thalweg::compute {

struct LrnOptions {
  int64_t radius = 5;
  float bias = 1, alpha = 1, beta = 0.5f;
};

Status Lrn(Work& work, DType dtype, int64_t rows, int64_t channels, const LrnOptions& options,
           const void* x, void* y);
Status LrnGrad(Work& work, DType dtype, int64_t rows, int64_t channels, const LrnOptions& options,
               const void* dy, const void* x, const void* y, void* dx);

}  // namespace thalweg::compute
