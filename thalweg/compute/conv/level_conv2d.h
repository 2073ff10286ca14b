// SPDX-License-Identifier: Apache-2.0
// LevelConv2D: convolutions of levels of 8 bits, as they are stored, over the products of
// quantized/level_product.h, which read the windows where they lie, or copies of some at a time.
//
//   if (HasLevelConv2D(shape, images)) {
//     RETURN_IF_ERROR(LevelConv2D(work, shape, images, weights, sums));
//   }
//
// Images are [batch, rows, columns, in_channels], the filter [rows, columns, in_channels,
// out_channels], which may be packed in the size that FilterSize says; sums are int32 and
// [batch, rows, columns, out_channels]. What is outside of an image stands for 0.
// Ownership: operands are the caller's; nothing is kept.
// Threads: any, each with its own Work.
// Errors: those of level_product.h.
#pragma once

#include "thalweg/compute/conv/conv2d.h"
#include "thalweg/compute/quantized/level_product.h"

namespace thalweg::compute {

// False for groups, for channels first and for a zero that is no level of x's type.
bool HasLevelConv2D(const Conv2DShape& shape, const LevelMatrix& x);
ProductSize FilterSize(const Conv2DShape& shape);
Status LevelConv2D(Work& work, const Conv2DShape& shape, const LevelMatrix& x,
                   const LevelMatrix& filter, int32_t* sums);
// What is made of the sums [batch * pixels, out_channels]: quantized/level_sums.h.
Status LevelConv2D(Work& work, const Conv2DShape& shape, const LevelMatrix& x,
                   const LevelMatrix& filter, const LevelSums& sums);

}  // namespace thalweg::compute
