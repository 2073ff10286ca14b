// SPDX-License-Identifier: Apache-2.0
// The convolutions of conv2d.h for channels-last float and double, nothing empty. Private to
// compute/conv.
// Ownership: operands are the caller's; nothing is kept.
// Threads: as conv2d.h.
// Errors: those of work.h.
#pragma once

#include "thalweg/compute/conv/conv2d.h"

namespace thalweg::compute {

// `packed`: null, or the filter as PackGemm leaves it; `filter` is not read then.
template <class T>
Status ConvForward(Work& work, const Conv2DShape& shape, const T* input, const T* filter, T* output,
                   const GemmEpilogue& epilogue, const T* packed = nullptr);
template <class T>
Status ConvBackwardInput(Work& work, const Conv2DShape& shape, const T* filter,
                         const T* output_grad, T* input_grad);
template <class T>
Status ConvBackwardFilter(Work& work, const Conv2DShape& shape, const T* input,
                          const T* output_grad, T* filter_grad);

}  // namespace thalweg::compute
