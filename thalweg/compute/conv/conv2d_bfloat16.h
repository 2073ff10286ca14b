// SPDX-License-Identifier: Apache-2.0
// Conv2D and its gradients of bfloat16 by the processor's own instructions, over the blocks of
// gemm/bfloat16_blocks.h: what a window sees is packed where it is used, from the image itself.
// Channels last, no groups. Private to compute/conv.
// Sums are of float and rounded once; their order depends on the unit and on the shape alone.
// Ownership: operands are the caller's; nothing is kept.
// Threads: as conv2d.h.
// Errors: those of work.h.
#pragma once

#include "thalweg/compute/conv/conv2d.h"
#include "thalweg/compute/gemm/bfloat16_blocks.h"

namespace thalweg::compute {

// Whether blocks are filled well enough: there is a unit, and no operand is empty or has few
// channels.
bool IsForBfloat16Blocks(Bfloat16Unit unit, const Conv2DShape& shape);

Status Bfloat16ConvForward(Work& work, Bfloat16Unit unit, const Conv2DShape& shape,
                           const void* input, const void* filter, void* output,
                           const GemmEpilogue& epilogue);
Status Bfloat16ConvBackwardInput(Work& work, Bfloat16Unit unit, const Conv2DShape& shape,
                                 const void* filter, const void* output_grad, void* input_grad);
Status Bfloat16ConvBackwardFilter(Work& work, Bfloat16Unit unit, const Conv2DShape& shape,
                                  const void* input, const void* output_grad, void* filter_grad);

}  // namespace thalweg::compute
