// SPDX-License-Identifier: Apache-2.0
// Frames of boxes drawn onto images [batch, rows, columns, channels], one pixel wide.
//
//   DrawShape shape{.batch = 8, .rows = 32, .columns = 32, .channels = 3, .boxes = 5};
//   RETURN_IF_ERROR(DrawBoxes(work, DType::kFloat, shape, boxes, colors, pixels));
//
// Boxes are [batch, boxes, 4]: first and last row, first and last column in order y0, x0, y1, x1,
// as shares of the image. What is outside is left out; boxes of negative extent or wholly outside
// draw nothing. Colors are [colors, color_channels], taken in turn; `color_channels` is at
// least `channels`. Types: half and float. One shard per image.
// Ownership: pixels are written in place; boxes and colors are the caller's.
// Threads: any, each with its own Work.
// Errors: Unimplemented for another type; those of work.h.
#pragma once

#include "thalweg/compute/work.h"
#include "thalweg/tensor/dtype.h"

namespace thalweg::compute {

struct DrawShape {
  int64_t batch = 1, rows = 1, columns = 1, channels = 1, boxes = 1;
  int64_t colors = 1, color_channels = 4;
};

Status DrawBoxes(Work& work, DType dtype, const DrawShape& shape, const float* boxes,
                 const float* colors, void* pixels);

}  // namespace thalweg::compute
