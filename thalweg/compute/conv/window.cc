// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/conv/window.h"

#include <algorithm>

namespace thalweg::compute {

Result<Window> MakeWindow(int64_t input, int64_t size, int64_t stride, int64_t dilation,
                          Padding padding, int64_t before, int64_t after) {
  constexpr int64_t kMost = int64_t{1} << 40;  // keeps every sum below far from overflow
  if (input < 0 || size < 1 || stride < 1 || dilation < 1 || before < 0 || after < 0) {
    return InvalidArgument(
        "expected window size, stride and dilation of at least 1 and padding of at least 0, got "
        "size ",
        size, ", stride ", stride, ", dilation ", dilation, ", padding ", before, " and ", after);
  }
  if (std::max({input, stride, before, after}) > kMost || size > kMost / dilation) {
    return InvalidArgument("window of size ", size, " with dilation ", dilation, " and stride ",
                           stride, " over an input of ", input, " is too large");
  }
  Window w{input, size, stride, dilation, 0, 0};
  const int64_t reach = (size - 1) * dilation + 1;
  if (padding == Padding::kSame) {
    w.output = (input + stride - 1) / stride;
    w.pad_before = std::max<int64_t>(0, (w.output - 1) * stride + reach - input) / 2;
    return w;
  }
  if (padding == Padding::kValid) before = after = 0;
  const int64_t padded = input + before + after;
  w.pad_before = before;
  w.output = (padded - reach + stride) / stride;
  if (w.output < 0) {
    return InvalidArgument("Computed output size would be negative: ", w.output,
                           " [input_size: ", padded, ", effective_filter_size: ", reach,
                           ", stride: ", stride, "]; the window does not fit into the input");
  }
  return w;
}

}  // namespace thalweg::compute
