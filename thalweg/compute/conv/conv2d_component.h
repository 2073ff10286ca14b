// SPDX-License-Identifier: Apache-2.0
// Convolutions by the component: nullopt when it does not take this one. Channels last, no groups,
// no empty sizes. Private to compute/conv.
// Ownership: operands are the caller's; a plan stays with `plans`.
// Threads: as conv2d.h.
// Errors: nullopt where it does not take it; Internal where oneDNN fails after all, those of
// work.h.
#pragma once

#include <optional>

#include "thalweg/compute/conv/conv2d.h"

namespace thalweg::compute {

std::optional<Status> ComponentForward(Work& work, ConvPlans& plans, const Conv2DShape& shape,
                                       float* input, const ConvFilter& filter, float* output,
                                       const GemmEpilogue& epilogue);
std::optional<Status> ComponentBackwardInput(Work& work, ConvPlans& plans, const Conv2DShape& shape,
                                             const ConvFilter& filter, float* output_grad,
                                             float* input_grad);
std::optional<Status> ComponentBackwardFilter(Work& work, ConvPlans& plans,
                                              const Conv2DShape& shape, float* input,
                                              float* output_grad, float* filter_grad);

}  // namespace thalweg::compute
