// SPDX-License-Identifier: Apache-2.0
// Window: how a filter or pooling window slides along one spatial dimension.
//
//   ASSIGN_OR_RETURN(Window rows,
//                    MakeWindow(in_rows, filter_rows, stride, dilation, Padding::kSame));
//   ... rows.output, rows.pad_before ...
//
// Output position o reads inputs o * stride - pad_before + t * dilation for t in [0, size); those
// outside count as zero (convolution) or do not count (pooling).
// Ownership: a value.
// Threads: any; no state.
// Errors: InvalidArgument with the sizes, for what no window can be.
#pragma once

#include <cstdint>

#include "thalweg/base/status.h"

namespace thalweg::compute {

enum class Padding : uint8_t { kValid, kSame, kExplicit };

struct Window {
  int64_t input = 1, size = 1, stride = 1, dilation = 1;
  int64_t pad_before = 0;
  int64_t output = 1;
};

// before and after count with kExplicit only. The output is empty where the window is larger than
// the padded input by less than two strides. InvalidArgument for sizes, strides, dilations below 1
// (input below 0), negative padding, or a window that is larger by more.
Result<Window> MakeWindow(int64_t input, int64_t size, int64_t stride, int64_t dilation,
                          Padding padding, int64_t before = 0, int64_t after = 0);

}  // namespace thalweg::compute
