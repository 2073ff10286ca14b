// SPDX-License-Identifier: Apache-2.0
// Normalization of images of levels (quint8).
//
//   NormalizeInstances(work, {batch, rows * columns, channels}, range, 1e-5f, levels, reals);
//   LevelsIn(work, n, RangeOf(n, reals, 1e-3f), reals, out);
//
// Sums of instances are of integers, so that the order does not matter.
// Ownership: operands are the caller's; nothing is kept.
// Threads: any, each with its own Work.
// Errors: those of work.h.
#pragma once

#include "thalweg/compute/quantized/levels.h"

namespace thalweg::compute {

struct InstanceShape {
  int64_t batch = 1, pixels = 1, channels = 1;
};
// Each channel of each image minus its mean, by the root of its variance plus epsilon.
Status NormalizeInstances(Work& work, const InstanceShape& shape, RealRange range, float epsilon,
                          const uint8_t* levels, float* reals);
// The range of the reals, at least `separation` wide. Of no reals: from 0.
RealRange RangeOf(int64_t n, const float* reals, float separation);
Status LevelsIn(Work& work, int64_t n, RealRange range, const float* reals, uint8_t* levels);

// (t - mean) / sqrt(variance + epsilon) * gamma + beta, the product only with `scale`, as qint32 in
// kBatchNormRange. Operands in this order: t, mean, variance, beta, gamma.
inline constexpr RealRange kBatchNormRange{-1048576, 1048576};
struct LevelBatchNorm {
  float epsilon = 0;
  bool scale = false;
  int64_t channels = 1;
  const uint8_t* levels[5] = {};
  RealRange ranges[5];
};
Status BatchNormLevels(Work& work, int64_t n, const LevelBatchNorm& norm, int32_t* out);

}  // namespace thalweg::compute
