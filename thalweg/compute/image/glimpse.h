// SPDX-License-Identifier: Apache-2.0
// Windows of floats cut out of images [batch, rows, columns, channels], which may reach over the
// edges; what is outside is zero or noise.
//
//   GlimpseShape shape{.batch = 8, .rows = 32, .columns = 32, .channels = 3, .out_rows = 5,
//                      .out_columns = 5};
//   RETURN_IF_ERROR(Glimpses(work, shape, offsets, noise, images, windows));
//
// Offsets are [batch, 2], row and column. Noise is the same in every call: kUniform lies between
// the least and the largest value of its image, kGaussian has mean and deviation of its channel,
// bounded by that channel's values.
// Ownership: operands are the caller's; nothing is kept.
// Threads: any, each with its own Work.
// Errors: those of work.h.
#pragma once

#include "thalweg/compute/work.h"

namespace thalweg::compute {

enum class GlimpseNoise { kZero, kUniform, kGaussian };

struct GlimpseShape {
  int64_t batch = 1, rows = 1, columns = 1, channels = 1, out_rows = 1, out_columns = 1;
  bool centered = true;    // offsets count from the middle of the image
  bool normalized = true;  // and in sizes of it
  bool second = false;     // the rules of ExtractGlimpseV2
};

Status Glimpses(Work& work, const GlimpseShape& shape, const float* offsets, GlimpseNoise noise,
                const float* images, float* windows);

}  // namespace thalweg::compute
