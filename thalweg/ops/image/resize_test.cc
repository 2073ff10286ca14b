// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "thalweg/testing/op_case.h"

namespace thalweg {
namespace {

// Where pixel i of `out` lies among `in` pixels.
double Place(const RefCall<double>& r, int64_t i, int64_t in, int64_t out, bool nearest) {
  const bool half = r.Attr<bool>("half_pixel_centers");
  const double scale = r.Attr<bool>("align_corners") && out > 1
                           ? static_cast<double>(in - 1) / static_cast<double>(out - 1)
                           : static_cast<double>(in) / static_cast<double>(out);
  const double center = static_cast<double>(i) + (half ? 0.5 : 0);
  return center * scale - (half && !nearest ? 0.5 : 0);
}

int64_t NearestOf(const RefCall<double>& r, int64_t i, int64_t in, int64_t out) {
  const double place = Place(r, i, in, out, true);
  const double rounded = r.Attr<bool>("align_corners") ? std::round(place) : std::floor(place);
  return std::clamp<int64_t>(static_cast<int64_t>(rounded), 0, in - 1);
}

// f(flat pixel of out, flat pixel of in, weight): all that a pixel of the output is made of.
template <class F>
void ForTaps(const RefCall<double>& r, const Shape& in, const Shape& out, bool nearest, F f) {
  for (int64_t b = 0; b < out.dim(0); ++b) {
    for (int64_t y = 0; y < out.dim(1); ++y) {
      for (int64_t x = 0; x < out.dim(2); ++x) {
        const int64_t to = (b * out.dim(1) + y) * out.dim(2) + x;
        const auto from = [&](int64_t row, int64_t column) {
          return (b * in.dim(1) + std::clamp<int64_t>(row, 0, in.dim(1) - 1)) * in.dim(2) +
                 std::clamp<int64_t>(column, 0, in.dim(2) - 1);
        };
        if (nearest) {
          f(to,
            from(NearestOf(r, y, in.dim(1), out.dim(1)), NearestOf(r, x, in.dim(2), out.dim(2))),
            1.0);
          continue;
        }
        const double row = Place(r, y, in.dim(1), out.dim(1), false);
        const double column = Place(r, x, in.dim(2), out.dim(2), false);
        const double v = row - std::floor(row), u = column - std::floor(column);
        const auto r0 = static_cast<int64_t>(std::floor(row));
        const auto c0 = static_cast<int64_t>(std::floor(column));
        f(to, from(r0, c0), (1 - v) * (1 - u));
        f(to, from(r0, c0 + 1), (1 - v) * u);
        f(to, from(r0 + 1, c0), v * (1 - u));
        f(to, from(r0 + 1, c0 + 1), v * u);
      }
    }
  }
}

Shape Resized(const Array<double>& image, const Array<double>& size) {
  return Shape{image.shape.dim(0), static_cast<int64_t>(size[0]), static_cast<int64_t>(size[1]),
               image.shape.dim(3)};
}

template <bool kNearest>
void Forward(RefCall<double>& r) {
  const Array<double>& x = r.in[0];
  Array<double> y(Resized(x, r.in[1]));
  const int64_t channels = x.shape.dim(3);
  ForTaps(r, x.shape, y.shape, kNearest, [&](int64_t to, int64_t from, double weight) {
    for (int64_t c = 0; c < channels; ++c) {
      y[to * channels + c] += weight * x[from * channels + c];
    }
  });
  r.out = {y};
}

template <bool kNearest>
void Backward(RefCall<double>& r, const Shape& original) {
  const Array<double>& dy = r.in[0];
  Array<double> dx(original);
  const int64_t channels = original.dim(3);
  ForTaps(r, original, dy.shape, kNearest, [&](int64_t to, int64_t from, double weight) {
    for (int64_t c = 0; c < channels; ++c) {
      dx[from * channels + c] += weight * dy[to * channels + c];
    }
  });
  r.out = {dx};
}

In Size(int32_t rows, int32_t columns) { return In(Tensor::Vector<int32_t>({rows, columns})); }

AttrMap Centers(bool align, bool half) {
  return {{"align_corners", align}, {"half_pixel_centers", half}};
}
const AttrMap kLegacy = Centers(false, false);

OpCase WithCenters(OpCase c, std::vector<In> inputs) {
  for (const auto& [align, half] : {std::pair(false, false), {true, false}, {false, true}}) {
    c.Try(inputs, Centers(align, half));
  }
  return c;
}

TEST(ResizeTest, Bilinear) {
  OpCase c("ResizeBilinear");
  c.Reference(Forward<false>)
      .GradInputs({0})
      .GradStep(1e-2, 2e-3)  // the output is of float, whatever the input
      .Bad({In({3, 4, 2}), Size(2, 2)}, kLegacy, Code::kInvalidArgument, "")
      .Bad({In({1, 3, 4, 2}), Size(0, 2)}, kLegacy, Code::kInvalidArgument, "positive")
      .Bad({In({1, 0, 4, 2}), Size(2, 2)}, kLegacy, Code::kInvalidArgument, "non-zero")
      .Bad({In({1, 3, 4, 2}), In(Tensor::Vector<int32_t>({1, 2, 3}))}, kLegacy,
           Code::kInvalidArgument, "two elements")
      .Bad({In({1, 3, 4, 2}), Size(2, 2)}, Centers(true, true), Code::kInvalidArgument,
           "align_corners must be False");
  c = WithCenters(c, {In({2, 3, 4, 2}), Size(5, 6)});
  c = WithCenters(c, {In({1, 7, 5, 1}), Size(3, 2)});
  c = WithCenters(c, {In({1, 4, 4, 3}), Size(1, 1)});
  c.Try({In({0, 3, 4, 2}), Size(5, 6)}, kLegacy).Run();
}

Tensor Levels(DType dtype, const Tensor& numbers) {
  return (*RunOp("Bitcast", {numbers}, {{"type", dtype}}))[0];
}

void ExpectQuantized(const Tensor& images, const Tensor& size, const Tensor& expected) {
  const auto out =
      RunOp("QuantizedResizeBilinear", {images, size, Tensor::Scalar(-1.5f), Tensor::Scalar(2.5f)});
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  EXPECT_EQ(BitDifference((*out)[0], expected), "") << (*out)[0].ToString();
  EXPECT_EQ((*out)[1].scalar<float>(), -1.5f);
  EXPECT_EQ((*out)[2].scalar<float>(), 2.5f);
}

// Bytes come out as in TensorFlow 2.21; its qint32 go through float, ours are nearer.
TEST(ResizeTest, QuantizedBilinear) {
  std::vector<uint8_t> bytes;
  for (int i = 0; i < 24; ++i) bytes.push_back(static_cast<uint8_t>(i * 11 % 251));
  ExpectQuantized(
      Levels(DType::kQuint8, Tensor::Of<uint8_t>(bytes, Shape{1, 3, 4, 2})),
      Tensor::Vector<int32_t>({5, 6}),
      Levels(DType::kQuint8,
             Tensor::Of<uint8_t>(
                 std::vector<uint8_t>{0,   11,  15,  26,  29,  40,  44,  55,  59,  70,  66,  77,
                                      52,  63,  67,  78,  81,  92,  96,  107, 111, 122, 118, 129,
                                      105, 116, 120, 131, 134, 145, 149, 160, 164, 142, 171, 133,
                                      158, 169, 173, 184, 187, 198, 202, 213, 217, 95,  224, 35,
                                      176, 187, 191, 202, 205, 216, 220, 231, 235, 79,  242, 2},
                 Shape{1, 5, 6, 2})));
  const int32_t most = std::numeric_limits<int32_t>::max(), least = -most - 1;
  ExpectQuantized(
      Levels(DType::kQint32,
             Tensor::Of<int32_t>(std::vector<int32_t>{least, most}, Shape{1, 1, 2, 1})),
      Tensor::Vector<int32_t>({1, 4}),
      Levels(DType::kQint32,
             Tensor::Of<int32_t>(std::vector<int32_t>{least, 0, most, most}, Shape{1, 1, 4, 1})));
  OpCase c("QuantizedResizeBilinear");
  c.Types({{"T", DType::kFloat}})
      .Reference([](RefCall<double>& r) {
        Forward<false>(r);
        r.out.push_back(r.in[2]);
        r.out.push_back(r.in[3]);
      })
      .NoGradient("there is none")
      .Bad({In({3, 4, 2}), Size(2, 2), In({}), In({})}, kLegacy, Code::kInvalidArgument, "")
      .Bad({In({1, 3, 4, 0}), Size(2, 2), In({}), In({})}, kLegacy, Code::kInvalidArgument,
           "channel")
      .Bad({In({1, 3, 4, 2}), Size(2, 2), In({1}), In({})}, kLegacy, Code::kInvalidArgument, "")
      .Bad({In({1, 3, 4, 2}), Size(-1, 2), In({}), In({})}, kLegacy, Code::kInvalidArgument, "");
  c = WithCenters(c, {In({2, 3, 4, 2}), Size(5, 6), In({}), In({})});
  c.Run();
}

TEST(ResizeTest, BilinearGrad) {
  OpCase c("ResizeBilinearGrad");
  c.Reference([](RefCall<double>& r) { Backward<false>(r, r.in[1].shape); })
      .Tolerance(DType::kDouble, 1e-6)  // weights are floats
      .NoGradient("there is none")
      .Bad({In({1, 2, 2, 2}), In({1, 2, 2, 3})}, kLegacy, Code::kInvalidArgument, "")
      .Bad({In({1, 0, 2, 2}), In({1, 2, 2, 2})}, kLegacy, Code::kInvalidArgument, "non-zero");
  c = WithCenters(c, {In({2, 5, 6, 2}), In({2, 3, 4, 2})});
  c = WithCenters(c, {In({1, 3, 2, 1}), In({1, 7, 5, 1})});
  c.Run();
}

TEST(ResizeTest, Nearest) {
  OpCase c("ResizeNearestNeighbor");
  c.Reference(Forward<true>)
      .GradInputs({0})
      .Bad({In({1, 3, 4, 2}), Size(2, -1)}, kLegacy, Code::kInvalidArgument, "")
      .Bad({In({1, 3, 4, 2}), Size(2, 2)}, Centers(true, true), Code::kInvalidArgument,
           "align_corners must be False");
  c = WithCenters(c, {In({2, 3, 4, 2}), Size(5, 6)});
  c = WithCenters(c, {In({1, 7, 5, 1}), Size(3, 2)});
  c.Try({In({2, 3, 4, 0}), Size(5, 6)}, kLegacy).Run();
}

TEST(ResizeTest, NearestGrad) {
  OpCase c("ResizeNearestNeighborGrad");
  c.Reference([](RefCall<double>& r) { Backward<true>(r, Resized(r.in[0], r.in[1])); })
      .NoGradient("there is none")
      .Bad({In({1, 3, 4, 2}), Size(0, 2)}, kLegacy, Code::kInvalidArgument, "positive")
      .Bad({In({1, 3, 0, 2}), Size(2, 2)}, kLegacy, Code::kInvalidArgument, "non-zero");
  c = WithCenters(c, {In({2, 5, 6, 2}), Size(3, 4)});
  c = WithCenters(c, {In({1, 3, 2, 1}), Size(7, 5)});
  c.Run();
}

}  // namespace
}  // namespace thalweg
