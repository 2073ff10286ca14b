// SPDX-License-Identifier: Apache-2.0
// ChannelsLast: convolutions of channels-first images (data_format NCHW), and what lies between
// them, become channels-last ones, which is what the kernels compute; images are transposed once
// where they enter and leave such a part, not by every kernel:
//
//   Relu(BiasAdd(Conv2D(x))) in NCHW -> Transpose(Relu(BiasAdd(Conv2D(Transpose(x)))))
//
// A part begins with a convolution or a gradient of one. Normalization, bias, pooling, their
// gradients and element-wise nodes of four dimensions join it when an image that they read lies
// in it. Only nodes whose images have a rank known to be 4. Sums over a channel are made in another
// order, as in a graph that was written channels-last: last places may differ.
// Ownership: as pass.h: a new graph, or the one given.
// Threads: as pass.h: one.
// Errors: those of the step's budget.
#pragma once

#include "thalweg/passes/pass.h"

namespace thalweg {

Result<StepGraph> ChannelsLast(const StepGraph& step);

}  // namespace thalweg
