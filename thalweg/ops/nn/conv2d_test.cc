// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/testing/op_case.h"

namespace thalweg {
namespace {

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

AttrMap Attrs(int64_t rows, int64_t columns, const char* padding, bool first = false,
              int64_t dilation = 1) {
  const auto order = [&](int64_t r, int64_t c) {
    return first ? std::vector<int64_t>{1, 1, r, c} : std::vector<int64_t>{1, r, c, 1};
  };
  return {{"strides", order(rows, columns)},
          {"padding", padding},
          {"data_format", first ? "NCHW" : "NHWC"},
          {"dilations", order(dilation, dilation)}};
}

AttrMap WithExplicit(AttrMap attrs, std::vector<int64_t> pads) {
  attrs.Set("explicit_paddings", std::move(pads));
  return attrs;
}

OpCase Tolerant(const char* op) {
  OpCase made(op);
  made.Tolerance(DType::kHalf, 2e-2).Tolerance(DType::kBfloat16, 2e-1).GradStep(1e-4, 1e-5);
  return made;
}

TEST(Conv2DTest, Forward) {
  Tolerant("Conv2D")
      .Reference([](RefCall<double>& r) {
        const Conv conv(r, r.in[0].shape, r.in[1].shape);
        r.out = {Array<double>(conv.output)};
        conv.ForEachProduct([&](const auto& image, const auto& filter, const auto& out) {
          r.out[0].At(out) += r.in[0].At(image) * r.in[1].At(filter);
        });
      })
      .Try({In({2, 6, 7, 3}), In({3, 2, 3, 5})}, Attrs(1, 1, "SAME"))
      .Try({In({1, 6, 7, 3}), In({3, 2, 3, 5})}, Attrs(2, 3, "SAME"))
      .Try({In({2, 6, 7, 3}), In({3, 2, 3, 5})}, Attrs(1, 1, "VALID"))
      .Try({In({1, 9, 7, 2}), In({3, 2, 2, 17})}, Attrs(2, 1, "VALID", false, 2))
      .Try({In({2, 3, 6, 7}), In({3, 2, 3, 5})}, Attrs(1, 2, "SAME", true))
      .Try({In({1, 2, 5, 5}), In({2, 2, 2, 3})},
           WithExplicit(Attrs(1, 1, "EXPLICIT", true), {0, 0, 0, 0, 1, 0, 2, 1}))
      .Try({In({1, 4, 5, 2}), In({2, 3, 2, 3})},
           WithExplicit(Attrs(2, 1, "EXPLICIT"), {0, 0, 2, 1, 0, 3, 0, 0}))
      .Try({In({1, 4, 4, 3}), In({1, 1, 3, 2})}, Attrs(1, 1, "VALID"))
      .Try({In({2, 5, 4, 6}), In({3, 2, 2, 9})}, Attrs(1, 1, "SAME"))
      .Try({In({2, 4, 5, 4}), In({3, 2, 2, 6})}, Attrs(2, 1, "VALID", true))
      .Try({In({0, 4, 4, 3}), In({2, 2, 3, 2})}, Attrs(1, 1, "VALID"))
      .Bad({In({1, 4, 4, 3}), In({2, 2, 4, 2})}, Attrs(1, 1, "SAME"), Code::kInvalidArgument,
           "channels")
      .Bad({In({1, 2, 4, 3}), In({3, 3, 3, 2})}, Attrs(1, 1, "VALID"), Code::kInvalidArgument,
           "fit")
      .Bad({In({1, 4, 4, 3}), In({2, 2, 3, 2})}, Attrs(0, 1, "SAME"), Code::kInvalidArgument,
           "strides")
      .Bad({In({4, 4, 3}), In({2, 2, 3, 2})}, Attrs(1, 1, "SAME"), Code::kInvalidArgument, "")
      .Run();
}

TEST(Conv2DTest, BackpropInput) {
  Tolerant("Conv2DBackpropInput")
      .Reference([](RefCall<double>& r) {
        Dims dims;
        for (double size : r.in[0].values) dims.push_back(static_cast<int64_t>(size));
        const Conv conv(r, Shape(dims), r.in[1].shape);
        r.out = {Array<double>(conv.image)};
        conv.ForEachProduct([&](const auto& image, const auto& filter, const auto& out) {
          r.out[0].At(image) += r.in[2].At(out) * r.in[1].At(filter);
        });
      })
      .Try({In({4}, {2, 6, 7, 3}), In({3, 2, 3, 5}), In({2, 6, 7, 5})}, Attrs(1, 1, "SAME"))
      .Try({In({4}, {1, 6, 7, 3}), In({3, 2, 3, 5}), In({1, 2, 3, 5})}, Attrs(2, 2, "VALID"))
      .Try({In({4}, {2, 3, 6, 7}), In({3, 2, 3, 5}), In({2, 5, 3, 4})}, Attrs(2, 2, "SAME", true))
      .Try({In({4}, {0, 4, 4, 3}), In({2, 2, 3, 2}), In({0, 3, 3, 2})}, Attrs(1, 1, "VALID"))
      .Bad({In({4}, {1, 4, 4, 3}), In({2, 2, 3, 2}), In({1, 4, 4, 2})}, Attrs(1, 1, "VALID"),
           Code::kInvalidArgument, "out_backprop")
      .Bad({In({3}, {1, 4, 4}), In({2, 2, 3, 2}), In({1, 4, 4, 2})}, Attrs(1, 1, "SAME"),
           Code::kInvalidArgument, "")
      .Run();
}

TEST(Conv2DTest, BackpropFilter) {
  Tolerant("Conv2DBackpropFilter")
      .Reference([](RefCall<double>& r) {
        Dims dims;
        for (double size : r.in[1].values) dims.push_back(static_cast<int64_t>(size));
        const Conv conv(r, r.in[0].shape, Shape(dims));
        r.out = {Array<double>(conv.filter)};
        conv.ForEachProduct([&](const auto& image, const auto& filter, const auto& out) {
          r.out[0].At(filter) += r.in[2].At(out) * r.in[0].At(image);
        });
      })
      .Try({In({2, 6, 7, 3}), In({4}, {3, 2, 3, 5}), In({2, 6, 7, 5})}, Attrs(1, 1, "SAME"))
      .Try({In({1, 6, 7, 3}), In({4}, {3, 2, 3, 5}), In({1, 2, 3, 5})}, Attrs(2, 2, "VALID"))
      .Try({In({2, 3, 6, 7}), In({4}, {3, 2, 3, 5}), In({2, 5, 3, 4})}, Attrs(2, 2, "SAME", true))
      .Try({In({0, 4, 4, 3}), In({4}, {2, 2, 3, 2}), In({0, 3, 3, 2})}, Attrs(1, 1, "VALID"))
      .Bad({In({1, 4, 4, 3}), In({4}, {2, 2, 3, 2}), In({1, 4, 4, 2})}, Attrs(1, 1, "VALID"),
           Code::kInvalidArgument, "out_backprop")
      .Run();
}

}  // namespace
}  // namespace thalweg
