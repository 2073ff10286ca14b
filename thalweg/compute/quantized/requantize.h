// SPDX-License-Identifier: Apache-2.0
// Levels of 32 bits, as products and sums of levels are, put into another range and a narrower
// type; and what of a range is used.
//
//   const RealRange used = UsedRange(n, levels, range);
//   RETURN_IF_ERROR(Requantize(work, n, range, levels, DType::kQuint8, used, out));
//
// Computed in double. What does not fit saturates; an empty or senseless range gives the lowest
// level.
// Ownership: operands and rules are the caller's; AddBias writes in place.
// Threads: any, each with its own Work.
// Errors: Unimplemented for another type; those of work.h.
#pragma once

#include "thalweg/compute/quantized/levels.h"

namespace thalweg::compute {

// What the least and the greatest level mean, with 0 below; the low end of `range` for no levels.
RealRange UsedRange(int64_t n, const int32_t* levels, RealRange range);

Status Requantize(Work& work, int64_t n, RealRange from, const int32_t* levels, DType dtype,
                  RealRange to, void* out);
// levels[i] + bias[i % channels] + summand[i] * summand_scales[i % channels], rounded and
// saturating, in place; bias and summand may be null.
struct BiasRule {
  int64_t channels = 1;
  const double* bias = nullptr;
  const float* summand = nullptr;
  const double* summand_scales = nullptr;
  bool relu = false;
};
Status AddBias(Work& work, int64_t n, const BiasRule& rule, int32_t* levels);
// The qint32 levels in `to` of a sum of two: those of 8 bits in `a` and the bias of its channel.
Status AddBiasLevels(Work& work, DType dtype, int64_t n, int64_t channels, RealRange range,
                     RealRange bias_range, RealRange to, const void* levels, const void* bias,
                     int32_t* out);

// Averages of levels over windows of NHWC images, rounded towards zero; places outside the image do
// not count. qint8 and quint8.
struct LevelPool {
  int64_t batch = 1, in_rows = 1, in_columns = 1, channels = 1, out_rows = 1, out_columns = 1;
  int64_t rows = 1, columns = 1, row_stride = 1, column_stride = 1, row_pad = 0, column_pad = 0;
};
Status AveragePoolLevels(Work& work, DType dtype, const LevelPool& pool, const void* levels,
                         void* out);

}  // namespace thalweg::compute
