// SPDX-License-Identifier: Apache-2.0
// Images [batch, rows, columns, channels] seen through a projective map.
//
//   ProjectiveShape shape{.batch = 8, .rows = 32, .columns = 32, .channels = 3, .out_rows = 24,
//                         .out_columns = 24, .bilinear = true, .outside = Outside::kReflect};
//   RETURN_IF_ERROR(ProjectiveTransform(work, DType::kUint8, shape, transforms, x, y));
//
// A transform a has 8 numbers: pixel (x, y) of the output is the input's at
// ((a0 x + a1 y + a2) / k, (a3 x + a4 y + a5) / k), k = a6 x + a7 y + 1. There is one, or one for
// each image (`transforms_each`). Where k is zero or a place is no number, the fill value stands.
// Types: real numbers; places are floats, and integers are cut towards zero.
// Ownership: operands are the caller's; nothing is kept.
// Threads: any, each with its own Work.
// Errors: Unimplemented for another type; those of work.h.
#pragma once

#include "thalweg/compute/work.h"
#include "thalweg/tensor/dtype.h"

namespace thalweg::compute {

// Pixels outside the image: the fill value; dcba|abcd|dcba; abcd|abcd|abcd; aaaa|abcd|dddd.
enum class Outside { kFill, kReflect, kWrap, kNearest };

struct ProjectiveShape {
  int64_t batch = 1, rows = 1, columns = 1, channels = 1, out_rows = 1, out_columns = 1;
  bool bilinear = false;  // else the nearest pixel
  bool transforms_each = false;
  Outside outside = Outside::kFill;
  float fill = 0;
};

Status ProjectiveTransform(Work& work, DType dtype, const ProjectiveShape& shape,
                           const float* transforms, const void* input, void* output);

}  // namespace thalweg::compute
