// SPDX-License-Identifier: Apache-2.0
// Where the windows of a convolution lie, over any number of spatial dimensions, straight from the
// definition: for the references of tests.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "thalweg/testing/op_case.h"

namespace thalweg {

using Index = std::vector<int64_t>;

inline Shape ShapeFrom(const Array<double>& sizes) {
  Dims dims;
  for (double size : sizes.values) dims.push_back(static_cast<int64_t>(size));
  return Shape(dims);
}

// Attributes: one stride and one dilation for all spatial dimensions.
inline AttrMap SlideAttrs(int spatial, int64_t stride, const char* padding, bool first = false,
                          int64_t dilation = 1) {
  const auto order = [&](int64_t value) {
    Index all(static_cast<size_t>(spatial + 2), value);
    all[0] = all[first ? 1 : spatial + 1] = 1;
    return all;
  };
  const char* formats[2][2] = {{"NHWC", "NCHW"}, {"NDHWC", "NCDHW"}};
  return {{"strides", order(stride)},
          {"padding", padding},
          {"data_format", formats[spatial - 2][first]},
          {"dilations", order(dilation)}};
}

struct TestSlide {
  int h = 1, spatial;
  Index strides, dilations, before;
  Shape image, filter, output;

  TestSlide(const RefCall<double>& r, const Shape& image_shape, const Shape& filter_shape,
            int64_t channels, const char* dilations_attr = "dilations")
      : spatial(image_shape.rank() - 2),
        strides(r.Attr<Index>("strides")),
        dilations(r.Attr<Index>(dilations_attr)),
        image(image_shape),
        filter(filter_shape) {
    if (r.node->FindAttr("data_format") != nullptr) {
      const std::string format = r.Attr<std::string>("data_format");
      h = format[1] == 'C' || format == "CHANNELS_FIRST" ? 2 : 1;
    }
    const std::string padding = r.Attr<std::string>("padding");
    Dims dims = image.dims();
    dims[channel()] = channels;
    for (int d = 0; d < spatial; ++d) {
      const int64_t in = image.dim(h + d), stride = strides[h + d];
      const int64_t covered = (filter.dim(d) - 1) * dilations[h + d] + 1;
      int64_t& out = dims[h + d];
      before.push_back(0);
      if (padding == "SAME") {
        out = (in + stride - 1) / stride;
        before[d] = std::max<int64_t>(0, (out - 1) * stride + covered - in) / 2;
        continue;
      }
      int64_t padded = in;
      if (padding == "EXPLICIT") {
        const Index pads = r.Attr<Index>("explicit_paddings");
        before[d] = pads[2 * (h + d)];
        padded += before[d] + pads[2 * (h + d) + 1];
      }
      out = (padded - covered) / stride + 1;
    }
    output = Shape(dims);
  }
  int channel() const { return h == 2 ? 1 : spatial + 1; }

  // f(tap, place in the image) for every tap that output `at` sees inside; the place has the
  // channel of `at`.
  template <class F>
  void ForEachTap(const Index& at, F f) const {
    Dims window;
    for (int d = 0; d < spatial; ++d) window.push_back(filter.dim(d));
    ForEachIndex(Shape(window), [&](const Index& tap) {
      Index place = at;
      for (int d = 0; d < spatial; ++d) {
        place[h + d] = at[h + d] * strides[h + d] - before[d] + tap[d] * dilations[h + d];
        if (place[h + d] < 0 || place[h + d] >= image.dim(h + d)) return;
      }
      f(tap, place);
    });
  }
};

}  // namespace thalweg
