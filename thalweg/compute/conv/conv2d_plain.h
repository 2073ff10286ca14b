// SPDX-License-Identifier: Apache-2.0
// The convolutions of conv2d_float.h for int32, by plain loops over taps; sums wrap. Private to
// compute/conv.
// Ownership: operands are the caller's; nothing is kept.
// Threads: as conv2d.h.
// Errors: those of work.h.
#pragma once

#include "thalweg/compute/conv/conv2d.h"

namespace thalweg::compute {

Status ConvForward(Work& work, const Conv2DShape& shape, const int32_t* input,
                   const int32_t* filter, int32_t* output, const GemmEpilogue& epilogue);
Status ConvBackwardInput(Work& work, const Conv2DShape& shape, const int32_t* filter,
                         const int32_t* output_grad, int32_t* input_grad);
Status ConvBackwardFilter(Work& work, const Conv2DShape& shape, const int32_t* input,
                          const int32_t* output_grad, int32_t* filter_grad);

}  // namespace thalweg::compute
