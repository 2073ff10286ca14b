// SPDX-License-Identifier: Apache-2.0
// The spatial size that a sliding window leaves, for shape functions. Private to this family.
// Ownership: values.
// Threads: any; no state.
// Errors: InvalidArgument with the sizes, for a window that does not fit.
#pragma once

#include <cstdint>
#include <string_view>

#include "thalweg/ops/nn/data_format.h"
#include "thalweg/tensor/shape.h"

namespace thalweg {

// -1 for an unknown input or window; InvalidArgument when the window does not fit.
inline Result<int64_t> WindowOutput(int64_t input, int64_t window, int64_t stride, int64_t dilation,
                                    std::string_view padding, int64_t before, int64_t after) {
  if (input < 0) return PartialShape::kUnknownDim;
  if (padding == "SAME") return (input + stride - 1) / stride;
  if (window < 0) return PartialShape::kUnknownDim;
  const int64_t covered = (window - 1) * dilation + 1;
  const int64_t padded = input + (padding == "EXPLICIT" ? before + after : 0);
  if (window < 1 || covered > padded) {
    return InvalidArgument("Negative dimension size caused by subtracting ", covered, " from ",
                           padded, "; the window does not fit into the input");
  }
  return (padded - covered) / stride + 1;
}

// [batch, rows, columns, channels] in the order of the format.
inline PartialShape ImageShape(ImageFormat format, int64_t batch, int64_t rows, int64_t columns,
                               int64_t channels) {
  if (format.channels_first) return PartialShape{batch, channels, rows, columns};
  return PartialShape{batch, rows, columns, channels};
}

inline Result<PartialShape> SlidShape(const WindowAttrs& attrs, const PartialShape& image,
                                      PerDimension window, int64_t channels) {
  const ImageFormat f = attrs.format;
  const ExplicitPadding& pad = attrs.explicit_padding;
  ASSIGN_OR_RETURN(
      const int64_t rows,
      WindowOutput(image.dim(f.rows()), window.rows, attrs.strides.rows, attrs.dilations.rows,
                   attrs.padding, pad.rows_before, pad.rows_after));
  ASSIGN_OR_RETURN(
      const int64_t columns,
      WindowOutput(image.dim(f.columns()), window.columns, attrs.strides.columns,
                   attrs.dilations.columns, attrs.padding, pad.columns_before, pad.columns_after));
  return ImageShape(f, image.dim(0), rows, columns, channels);
}

}  // namespace thalweg
