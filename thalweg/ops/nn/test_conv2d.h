// SPDX-License-Identifier: Apache-2.0
// A convolution by its definition, and attributes, for the tests of this family.
#pragma once

#include "thalweg/testing/op_case.h"

namespace thalweg {

// Sizes and element access of one convolution, whatever the data format.
struct Conv {
  bool first;
  std::vector<int64_t> strides, dilations;
  int64_t pad_rows, pad_columns;
  Shape image, filter, output;

  Conv(const RefCall<double>& r, const Shape& image_shape, const Shape& filter_shape)
      : first(r.Attr<std::string>("data_format") == "NCHW"),
        strides(r.Attr<std::vector<int64_t>>("strides")),
        dilations(r.Attr<std::vector<int64_t>>("dilations")),
        image(image_shape),
        filter(filter_shape) {
    const std::string padding = r.Attr<std::string>("padding");
    const auto pads = r.Attr<std::vector<int64_t>>("explicit_paddings");
    const int h = first ? 2 : 1;
    int64_t out[2], before[2];
    for (int d = 0; d < 2; ++d) {
      const int64_t in = image.dim(h + d), stride = strides[h + d];
      const int64_t covered = (filter.dim(d) - 1) * dilations[h + d] + 1;
      before[d] = 0;
      if (padding == "SAME") {
        out[d] = (in + stride - 1) / stride;
        before[d] = std::max<int64_t>(0, (out[d] - 1) * stride + covered - in) / 2;
      } else {
        int64_t padded = in;
        if (padding == "EXPLICIT") {
          before[d] = pads[2 * (h + d)];
          padded += before[d] + pads[2 * (h + d) + 1];
        }
        out[d] = (padded - covered) / stride + 1;
      }
    }
    pad_rows = before[0];
    pad_columns = before[1];
    const int64_t n = image.dim(0), channels = filter.dim(3);
    output = first ? Shape{n, channels, out[0], out[1]} : Shape{n, out[0], out[1], channels};
  }

  std::vector<int64_t> At(int64_t n, int64_t y, int64_t x, int64_t channel) const {
    if (first) return {n, channel, y, x};
    return {n, y, x, channel};
  }

  // f(image index, filter index, output index) for every product of the convolution.
  template <class F>
  void ForEachProduct(F f) const {
    const int h = first ? 2 : 1;
    ForEachIndex(output, [&](const std::vector<int64_t>& at) {
      const int64_t n = at[0], oy = at[h], ox = at[h + 1], oc = at[first ? 1 : 3];
      ForEachIndex(filter, [&](const std::vector<int64_t>& tap) {
        if (tap[3] != oc) return;
        const int64_t groups = image.dim(first ? 1 : 3) / filter.dim(2);
        const int64_t group = oc / (filter.dim(3) / groups);
        const int64_t y = oy * strides[h] - pad_rows + tap[0] * dilations[h];
        const int64_t x = ox * strides[h + 1] - pad_columns + tap[1] * dilations[h + 1];
        if (y < 0 || x < 0 || y >= image.dim(h) || x >= image.dim(h + 1)) return;
        f(At(n, y, x, group * filter.dim(2) + tap[2]), tap, at);
      });
    });
  }
};

inline AttrMap ConvAttrs(int64_t rows, int64_t columns, const char* padding, bool first = false,
                         int64_t dilation = 1) {
  const auto order = [&](int64_t r, int64_t c) {
    return first ? std::vector<int64_t>{1, 1, r, c} : std::vector<int64_t>{1, r, c, 1};
  };
  return {{"strides", order(rows, columns)},
          {"padding", padding},
          {"data_format", first ? "NCHW" : "NHWC"},
          {"dilations", order(dilation, dilation)}};
}

inline AttrMap WithExplicit(AttrMap attrs, std::vector<int64_t> pads) {
  attrs.Set("explicit_paddings", std::move(pads));
  return attrs;
}

}  // namespace thalweg
