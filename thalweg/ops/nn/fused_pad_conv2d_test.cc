// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "thalweg/testing/op_case.h"
#include "thalweg/testing/tolerance.h"

namespace thalweg {
namespace {

using Values = Array<double>;

// Where an element of a dimension with a mirrored border comes from: one step at a time, turning
// round at the ends.
int64_t Mirrored(int64_t i, int64_t size, bool reflect) {
  while (i < 0 || i >= size) {
    if (i < 0) i = reflect ? -i : -i - 1;
    if (i >= size) i = reflect ? 2 * (size - 1) - i : 2 * size - 1 - i;
  }
  return i;
}

Values Padded(const Values& x, const Values& paddings, bool reflect) {
  std::vector<int64_t> p;
  for (double value : paddings.values) p.push_back(static_cast<int64_t>(value));
  Values out(Shape{x.shape.dim(0), x.shape.dim(1) + p[2] + p[3], x.shape.dim(2) + p[4] + p[5],
                   x.shape.dim(3)});
  ForEachIndex(out.shape, [&](const std::vector<int64_t>& at) {
    out.At(at) = x.At({at[0], Mirrored(at[1] - p[2], x.shape.dim(1), reflect),
                       Mirrored(at[2] - p[4], x.shape.dim(2), reflect), at[3]});
  });
  return out;
}

Values Convolved(const Values& x, const Values& filter, const std::vector<int64_t>& strides,
                 bool same) {
  int64_t out[2], before[2];
  for (int d = 0; d < 2; ++d) {
    const int64_t in = x.shape.dim(1 + d), size = filter.shape.dim(d), stride = strides[1 + d];
    out[d] = same ? (in + stride - 1) / stride : (in - size) / stride + 1;
    before[d] = same ? std::max<int64_t>(0, (out[d] - 1) * stride + size - in) / 2 : 0;
  }
  Values y(Shape{x.shape.dim(0), out[0], out[1], filter.shape.dim(3)});
  ForEachIndex(y.shape, [&](const std::vector<int64_t>& at) {
    ForEachIndex(filter.shape, [&](const std::vector<int64_t>& tap) {
      const int64_t row = at[1] * strides[1] - before[0] + tap[0];
      const int64_t column = at[2] * strides[2] - before[1] + tap[1];
      if (tap[3] != at[3] || row < 0 || column < 0) return;
      if (row >= x.shape.dim(1) || column >= x.shape.dim(2)) return;
      y.At(at) += x.At({at[0], row, column, tap[2]}) * filter.At(tap);
    });
  });
  return y;
}

// A place between two pixels, which is computed in float.
struct Place {
  Place(int64_t i, int64_t in, int64_t out, bool align) {
    const float scale = align && out > 1 ? static_cast<float>(in - 1) / static_cast<float>(out - 1)
                                         : static_cast<float>(in) / static_cast<float>(out);
    const float place = static_cast<float>(i) * scale;
    low = static_cast<int64_t>(place);
    high = std::min(low + 1, in - 1);
    weight = static_cast<double>(place - std::floor(place));
  }
  int64_t low, high;
  double weight;
};

Values Resized(const Values& x, const Values& size, bool align) {
  Values out(Shape{x.shape.dim(0), static_cast<int64_t>(size[0]), static_cast<int64_t>(size[1]),
                   x.shape.dim(3)});
  ForEachIndex(out.shape, [&](const std::vector<int64_t>& at) {
    const Place row(at[1], x.shape.dim(1), out.shape.dim(1), align);
    const Place column(at[2], x.shape.dim(2), out.shape.dim(2), align);
    const auto along = [&](int64_t r) {
      const double left = x.At({at[0], r, column.low, at[3]});
      return left + (x.At({at[0], r, column.high, at[3]}) - left) * column.weight;
    };
    out.At(at) = along(row.low) + (along(row.high) - along(row.low)) * row.weight;
  });
  return out;
}

void PaddedReference(RefCall<double>& r) {
  const bool resizes = r.in.size() == 4, reflect = r.Attr<std::string>("mode") == "REFLECT";
  Values x = r.in[0];
  if (resizes) x = Resized(x, r.in[1], r.Attr<bool>("resize_align_corners"));
  x = Padded(x, r.in[resizes ? 2 : 1], reflect);
  r.out = {Convolved(x, r.in[resizes ? 3 : 2], r.Attr<std::vector<int64_t>>("strides"),
                     r.Attr<std::string>("padding") == "SAME")};
}

AttrMap Attrs(const char* mode, int64_t rows, int64_t columns, const char* padding) {
  return {
      {"mode", mode}, {"strides", std::vector<int64_t>{1, rows, columns, 1}}, {"padding", padding}};
}

AttrMap Aligned(AttrMap attrs) {
  attrs.Set("resize_align_corners", true);
  return attrs;
}

In Paddings(double top, double bottom, double left, double right) {
  return In({4, 2}, {0, 0, top, bottom, left, right, 0, 0});
}

OpCase TolerantPadded(const char* op) {
  OpCase made(op);
  made.Tolerance(DType::kHalf, 2 * ToleranceOf(OpClass::kConvolution, DType::kHalf))
      .Tolerance(DType::kBfloat16, ToleranceOf(OpClass::kConvolution, DType::kBfloat16))
      .Reference(PaddedReference);
  return made;
}

TEST(FusedPadConv2DTest, Pad) {
  const In image({2, 5, 6, 3}), filter({3, 2, 3, 4});
  const auto reflect = Attrs("REFLECT", 1, 1, "VALID"),
             symmetric = Attrs("SYMMETRIC", 1, 1, "SAME");
  constexpr Code kBad = Code::kInvalidArgument;
  TolerantPadded("FusedPadConv2D")
      .Try({image, Paddings(1, 2, 2, 0), filter}, reflect)
      .Try({image, Paddings(4, 4, 5, 5), filter}, reflect)  // the longest borders
      .Try({image, Paddings(5, 5, 6, 6), filter}, symmetric)
      .Try({image, Paddings(0, 0, 0, 0), filter}, reflect)
      .Try({image, Paddings(0, 1, 3, 2), filter}, Attrs("SYMMETRIC", 2, 1, "SAME"))
      .Try({image, Paddings(2, 0, 0, 1), filter}, Attrs("REFLECT", 2, 3, "VALID"))
      .Try({In({1, 1, 6, 1}), Paddings(0, 0, 1, 1), In({1, 3, 1, 1})}, reflect)
      .Bad({image, Paddings(5, 0, 0, 0), filter}, reflect, kBad, "less one")
      .Bad({image, Paddings(0, 0, 0, 7), filter}, symmetric, kBad, "no greater than")
      .Bad({image, Paddings(0, 2147483647, 0, 0), filter}, symmetric, kBad, "no greater than")
      .Bad({image, Paddings(-1, 0, 0, 0), filter}, reflect, kBad, "non-negative")
      .Bad({image, In({4, 2}, {1, 0, 0, 0, 0, 0, 0, 0}), filter}, reflect, kBad, "batch")
      .Bad({image, In({4, 2}, {0, 0, 0, 0, 0, 0, 0, 1}), filter}, reflect, kBad, "channels")
      .Bad({image, In({2, 2}, {0, 0, 0, 0}), filter}, reflect, kBad,
           "Shape must be rank 2 but is rank 4 for ", "paddings must be a matrix")
      .Bad({image, Paddings(1, 1, 1, 1), In({3, 2, 1, 4})}, reflect, kBad, "")
      .Bad({image, Paddings(1, 1, 1, 1), In({9, 2, 3, 4})}, reflect, kBad, "fit")
      .Bad({In({0, 5, 6, 3}), Paddings(1, 1, 1, 1), filter}, reflect, kBad, "empty")
      .Bad({In({5, 6, 3}), Paddings(1, 1, 1, 1), filter}, reflect, kBad, "")
      .Bad({image, Paddings(1, 1, 1, 1), filter}, Attrs("REFLECT", 0, 1, "SAME"), kBad, "strides")
      .Run();
}

TEST(FusedPadConv2DTest, ResizeAndPad) {
  const In image({2, 5, 6, 3}), filter({3, 2, 3, 4});
  const auto reflect = Attrs("REFLECT", 1, 1, "VALID"),
             symmetric = Attrs("SYMMETRIC", 1, 1, "SAME");
  const auto size = [](double rows, double columns) { return In({2}, {rows, columns}); };
  constexpr Code kBad = Code::kInvalidArgument;
  TolerantPadded("FusedResizeAndPadConv2D")
      .Try({image, size(7, 4), Paddings(1, 2, 2, 0), filter}, reflect)
      .Try({image, size(7, 4), Paddings(6, 0, 0, 3), filter}, Aligned(reflect))
      .Try({image, size(5, 6), Paddings(0, 0, 0, 0), filter}, symmetric)
      .Try({image, size(1, 1), Paddings(1, 1, 1, 1), filter}, Aligned(symmetric))
      .Try({image, size(11, 13), Paddings(1, 1, 1, 1), filter}, Attrs("REFLECT", 3, 2, "SAME"))
      .Bad({image, size(0, 4), Paddings(1, 1, 1, 1), filter}, reflect, kBad, "")
      .Bad({image, size(-3, 4), Paddings(1, 1, 1, 1), filter}, reflect, kBad, "")
      .Bad({image, In({3}, {1, 2, 3}), Paddings(1, 1, 1, 1), filter}, reflect, kBad,
           "Dimension 0 in both shapes must be equal, but are 3 and 2. Shapes are [3] and [2].", "")
      .Bad({image, size(7, 4), Paddings(7, 0, 0, 0), filter}, reflect, kBad, "less one")
      .Bad({In({2, 0, 6, 3}), size(7, 4), Paddings(1, 1, 1, 1), filter}, reflect, kBad, "empty")
      .Run();
}

}  // namespace
}  // namespace thalweg
