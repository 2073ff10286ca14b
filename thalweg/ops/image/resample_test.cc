// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "thalweg/testing/op_case.h"

namespace thalweg {
namespace {

// weights[out pixel][in pixel] of one dimension.
using Weights = std::vector<std::vector<double>>;

double Scale(const RefCall<double>& r, int64_t in, int64_t out) {
  return r.Attr<bool>("align_corners") && out > 1
             ? static_cast<double>(in - 1) / static_cast<double>(out - 1)
             : static_cast<double>(in) / static_cast<double>(out);
}

Weights Empty(int64_t in, int64_t out) {
  return Weights(static_cast<size_t>(out), std::vector<double>(static_cast<size_t>(in)));
}

// How much of pixel k lies in what the pixel of the output covers; the border goes on outside.
Weights AreaWeights(const RefCall<double>& r, int64_t in, int64_t out) {
  const double scale = Scale(r, in, out);
  Weights w = Empty(in, out);
  for (int64_t i = 0; i < out; ++i) {
    const double begin = static_cast<double>(i) * scale, end = begin + scale;
    for (int64_t k = 0; k < 2 * in + 2; ++k) {
      const auto low = static_cast<double>(k);
      const double part = std::max(0.0, std::min(low + 1, end) - std::max(low, begin)) / scale;
      w[static_cast<size_t>(i)][static_cast<size_t>(std::min(k, in - 1))] += part;
    }
  }
  return w;
}

double Cubic(double a, double x) {
  x = std::abs(x);
  if (x >= 2) return 0;
  if (x > 1) return a * (x * x * x - 5 * x * x + 8 * x - 4);
  return (a + 2) * x * x * x - (a + 3) * x * x + 1;
}

// TensorFlow looks weights up for 1024 places between two pixels.
Weights CubicWeights(const RefCall<double>& r, int64_t in, int64_t out) {
  const bool half = r.Attr<bool>("half_pixel_centers");
  Weights w = Empty(in, out);
  for (int64_t i = 0; i < out; ++i) {
    const double shift = half ? 0.5 : 0;
    const double place = (static_cast<double>(i) + shift) * Scale(r, in, out) - shift;
    const double low = std::floor(place);
    const double between = std::round((place - low) * 1024) / 1024;
    double sum = 0;
    for (int k = -1; k <= 2; ++k) {
      const auto at = static_cast<int64_t>(low) + k;
      const int64_t inside = std::clamp<int64_t>(at, 0, in - 1);
      if (half && inside != at) continue;
      const double weight = Cubic(half ? -0.5 : -0.75, k - between);
      sum += weight;
      w[static_cast<size_t>(i)][static_cast<size_t>(inside)] += weight;
    }
    for (double& weight : w[static_cast<size_t>(i)]) weight /= sum;
  }
  return w;
}

// f(flat value of out, flat value of in, weight).
template <class F>
void ForTaps(const Shape& in, const Shape& out, const Weights& rows, const Weights& columns, F f) {
  ForEachIndex(out, [&](const std::vector<int64_t>& at) {
    const int64_t to = ((at[0] * out.dim(1) + at[1]) * out.dim(2) + at[2]) * out.dim(3) + at[3];
    for (int64_t y = 0; y < in.dim(1); ++y) {
      for (int64_t x = 0; x < in.dim(2); ++x) {
        f(to, ((at[0] * in.dim(1) + y) * in.dim(2) + x) * in.dim(3) + at[3],
          rows[static_cast<size_t>(at[1])][static_cast<size_t>(y)] *
              columns[static_cast<size_t>(at[2])][static_cast<size_t>(x)]);
      }
    }
  });
}

template <Weights (*kWeights)(const RefCall<double>&, int64_t, int64_t)>
void Forward(RefCall<double>& r) {
  const Array<double>& x = r.in[0];
  Array<double> y(Shape{x.shape.dim(0), static_cast<int64_t>(r.in[1][0]),
                        static_cast<int64_t>(r.in[1][1]), x.shape.dim(3)});
  ForTaps(x.shape, y.shape, kWeights(r, x.shape.dim(1), y.shape.dim(1)),
          kWeights(r, x.shape.dim(2), y.shape.dim(2)),
          [&](int64_t to, int64_t from, double weight) { y[to] += weight * x[from]; });
  r.out = {y};
}

void CubicBackward(RefCall<double>& r) {
  const Array<double>& dy = r.in[0];
  Array<double> dx(r.in[1].shape);
  ForTaps(dx.shape, dy.shape, CubicWeights(r, dx.shape.dim(1), dy.shape.dim(1)),
          CubicWeights(r, dx.shape.dim(2), dy.shape.dim(2)),
          [&](int64_t to, int64_t from, double weight) { dx[from] += weight * dy[to]; });
  r.out = {dx};
}

In SampledSize(int32_t rows, int32_t columns) {
  return In(Tensor::Vector<int32_t>({rows, columns}));
}
In Pair(float a, float b) { return In(Tensor::Vector<float>({a, b})); }
AttrMap Align(bool align) { return {{"align_corners", align}}; }
AttrMap SampleCenters(bool align, bool half) {
  return {{"align_corners", align}, {"half_pixel_centers", half}};
}
const AttrMap kLegacyCenters = SampleCenters(false, false);

TEST(ResampleTest, Area) {
  OpCase("ResizeArea")
      .Reference(Forward<AreaWeights>)
      .Tolerance(DType::kDouble, 1e-5)  // the output is of float
      .Tolerance(DType::kInt64, 1e-5)
      .Try({In({2, 7, 9, 3}), SampledSize(3, 4)}, Align(false))
      .Try({In({1, 3, 4, 2}), SampledSize(5, 6)}, Align(false))
      .Try({In({1, 5, 7, 1}), SampledSize(3, 4)}, Align(true))
      .Try({In({1, 4, 4, 1}), SampledSize(1, 1)}, Align(false))
      .Try({In({0, 3, 4, 2}), SampledSize(5, 6)}, Align(false))
      .Bad({In({3, 4, 2}), SampledSize(2, 2)}, Align(false), Code::kInvalidArgument, "")
      .Bad({In({1, 3, 4, 2}), SampledSize(0, 2)}, Align(false), Code::kInvalidArgument, "positive")
      .Bad({In({1, 3, 0, 2}), SampledSize(2, 2)}, Align(false), Code::kInvalidArgument, "non-zero")
      .Bad({In({1, 3, 4, 2}), In(Tensor::Vector<int32_t>({1, 2, 3}))}, Align(false),
           Code::kInvalidArgument, "two elements")
      .Run();
}

TEST(ResampleTest, Bicubic) {
  OpCase c("ResizeBicubic");
  c.Reference(Forward<CubicWeights>)
      .Tolerance(DType::kDouble, 1e-4)
      .Tolerance(DType::kFloat, 1e-4)
      .GradInputs({0})
      .GradStep(1e-2, 2e-3)
      .Bad({In({3, 4, 2}), SampledSize(2, 2)}, kLegacyCenters, Code::kInvalidArgument, "")
      .Bad({In({1, 3, 4, 2}), SampledSize(-1, 2)}, kLegacyCenters, Code::kInvalidArgument, "")
      .Bad({In({1, 3, 4, 0}), SampledSize(2, 2)}, kLegacyCenters, Code::kInvalidArgument, "channel")
      .Bad({In({1, 3, 4, 2}), SampledSize(2, 2)}, SampleCenters(true, true), Code::kInvalidArgument,
           "align_corners must be False");
  for (const auto& [align, half] : {std::pair(false, false), {true, false}, {false, true}}) {
    c.Try({In({2, 3, 4, 2}), SampledSize(5, 6)}, SampleCenters(align, half));
    c.Try({In({1, 7, 5, 3}), SampledSize(3, 2)}, SampleCenters(align, half));
    c.Try({In({1, 1, 2, 1}), SampledSize(3, 1)}, SampleCenters(align, half));
  }
  c.Run();
}

TEST(ResampleTest, BicubicGrad) {
  OpCase c("ResizeBicubicGrad");
  c.Reference(CubicBackward)
      .Tolerance(DType::kDouble, 1e-4)
      .Tolerance(DType::kFloat, 1e-4)
      .NoGradient("there is none")
      .Bad({In({1, 2, 2, 2}), In({1, 2, 2, 3})}, kLegacyCenters, Code::kInvalidArgument, "")
      .Bad({In({1, 0, 2, 2}), In({1, 2, 2, 2})}, kLegacyCenters, Code::kInvalidArgument,
           "non-zero");
  for (const auto& [align, half] : {std::pair(false, false), {true, false}, {false, true}}) {
    c.Try({In({2, 5, 6, 2}), In({2, 3, 4, 2})}, SampleCenters(align, half));
    c.Try({In({1, 3, 2, 1}), In({1, 7, 5, 1})}, SampleCenters(align, half));
  }
  c.Run();
}

// Values of TensorFlow 2.21.
const std::vector<float> kPixels = {3, -1, 4, 1, 5, 9, 2, -6, 5, 3, 5, 8};

void ExpectPlaced(const std::string& kernel, bool antialias, const std::vector<float>& expected) {
  const auto y =
      RunOp("ScaleAndTranslate",
            {Tensor::Of<float>(kPixels, Shape{1, 3, 4, 1}), Tensor::Vector<int32_t>({2, 3}),
             Tensor::Vector<float>({0.7f, 0.6f}), Tensor::Vector<float>({0.25f, -0.5f})},
            {{"kernel_type", kernel}, {"antialias", antialias}});
  ASSERT_TRUE(y.ok()) << y.status().ToString();
  ASSERT_EQ((*y)[0].num_elements(), 6);
  for (int i = 0; i < 6; ++i) {
    EXPECT_NEAR((*y)[0].data<float>()[i], expected[static_cast<size_t>(i)], 2e-5)
        << kernel << (antialias ? " wide " : " ") << i;
  }
}

TEST(ResampleTest, RecordedKernels) {
  ExpectPlaced("lanczos1", false, {-0.80769f, 1.11538f, 0, 7.95093f, -3.81963f, 0});
  ExpectPlaced("lanczos1", true, {1.02671f, 1.5901f, 0, 5.74968f, -0.21519f, 0});
  ExpectPlaced("lanczos3", false, {-1.5717f, 2.43033f, 0, 8.34386f, -2.2526f, 0});
  ExpectPlaced("lanczos3", true, {1.99796f, 0.39681f, 0, 5.23438f, 0.52261f, 0});
  ExpectPlaced("lanczos5", false, {-1.75309f, 2.85113f, 0, 8.81759f, -2.21423f, 0});
  ExpectPlaced("lanczos5", true, {2.03493f, -0.0337f, 0, 5.21113f, 0.45687f, 0});
  ExpectPlaced("gaussian", false, {0.70909f, 1.20288f, 0, 6.06532f, -0.77107f, 0});
  ExpectPlaced("gaussian", true, {2.25348f, 1.08138f, 0, 4.57852f, 1.32771f, 0});
  ExpectPlaced("box", false, {-1, 1, 0, 9, -6, 0});
  ExpectPlaced("box", true, {-1, 2.5f, 0, 9, -2, 0});
  ExpectPlaced("triangle", false, {-0.16667f, 1.5f, 0, 6.54762f, -1.19048f, 0});
  ExpectPlaced("triangle", true, {2.09626f, 1.12338f, 0, 5.05462f, 0.82653f, 0});
  ExpectPlaced("keyscubic", false, {-1.12363f, 1.77834f, 0, 7.70394f, -2.24649f, 0});
  ExpectPlaced("keyscubic", true, {1.84662f, 0.98806f, 0, 5.28788f, 0.54921f, 0});
  ExpectPlaced("mitchellcubic", false, {-0.16487f, 1.53693f, 0, 6.80636f, -1.36458f, 0});
  ExpectPlaced("mitchellcubic", true, {2.12263f, 0.94153f, 0, 4.89673f, 1.01725f, 0});
}

// Triangles in double; the other kernels have recorded values.
Weights TriangleWeights(const RefCall<double>& r, int64_t in, int64_t out, int axis) {
  const double scale = r.in[2][axis], shift = r.in[3][axis];
  const double wide = r.Attr<bool>("antialias") ? std::max(1.0, 1 / scale) : 1.0;
  Weights w = Empty(in, out);
  for (int64_t i = 0; i < out; ++i) {
    const double center = (static_cast<double>(i) + 0.5 - shift) / scale;
    if (center < 0 || center > static_cast<double>(in)) continue;
    double sum = 0;
    for (int64_t k = 0; k < in; ++k) {
      const double at = std::abs(static_cast<double>(k) + 0.5 - center) / wide;
      sum += w[static_cast<size_t>(i)][static_cast<size_t>(k)] = std::max(0.0, 1 - at);
    }
    for (double& weight : w[static_cast<size_t>(i)]) weight /= sum;
  }
  return w;
}

void Placed(RefCall<double>& r) {
  const Array<double>& x = r.in[0];
  Array<double> y(Shape{x.shape.dim(0), static_cast<int64_t>(r.in[1][0]),
                        static_cast<int64_t>(r.in[1][1]), x.shape.dim(3)});
  ForTaps(x.shape, y.shape, TriangleWeights(r, x.shape.dim(1), y.shape.dim(1), 0),
          TriangleWeights(r, x.shape.dim(2), y.shape.dim(2), 1),
          [&](int64_t to, int64_t from, double weight) { y[to] += weight * x[from]; });
  r.out = {y};
}

void PlacedBackward(RefCall<double>& r) {
  const Array<double>& dy = r.in[0];
  Array<double> dx(r.in[1].shape);
  ForTaps(dx.shape, dy.shape, TriangleWeights(r, dx.shape.dim(1), dy.shape.dim(1), 0),
          TriangleWeights(r, dx.shape.dim(2), dy.shape.dim(2), 1),
          [&](int64_t to, int64_t from, double weight) { dx[from] += weight * dy[to]; });
  r.out = {dx};
}

TEST(ResampleTest, ScaledAndMoved) {
  const AttrMap wide = {{"kernel_type", "triangle"}, {"antialias", true}};
  const AttrMap narrow = {{"kernel_type", "triangle"}, {"antialias", false}};
  const In scale = Pair(0.63f, 1.57f), move = Pair(0.31f, -0.83f);
  OpCase("ScaleAndTranslate")
      .Reference(Placed)
      .Tolerance(DType::kDouble, 1e-5)
      .Tolerance(DType::kInt64, 1e-5)
      .GradInputs({0})
      .GradStep(1e-2, 2e-3)
      .Try({In({2, 5, 4, 2}), SampledSize(4, 7), scale, move}, wide)
      .Try({In({1, 5, 4, 3}), SampledSize(3, 6), scale, move}, narrow)
      .Try({In({0, 5, 4, 3}), SampledSize(3, 6), scale, move}, narrow)
      .Bad({In({5, 4, 3}), SampledSize(3, 6), scale, move}, wide, Code::kInvalidArgument, "")
      .Bad({In({1, 5, 4, 3}), SampledSize(3, 0), scale, move}, wide, Code::kInvalidArgument,
           "positive")
      .Bad({In({1, 5, 4, 3}), SampledSize(3, 6), Pair(0, 1), move}, wide, Code::kInvalidArgument,
           "greater than zero")
      .Bad({In({1, 5, 4, 3}), SampledSize(3, 6), Pair(1, std::nanf("")), move}, wide,
           Code::kInvalidArgument, "greater than zero")
      .Bad({In({1, 5, 4, 3}), SampledSize(3, 6), In(Tensor::Vector<float>({1})), move}, wide,
           Code::kInvalidArgument, "two elements")
      .Bad({In({1, 5, 4, 3}), SampledSize(3, 6), scale, move}, {{"kernel_type", "sinc"}},
           Code::kInvalidArgument, "Unrecognized kernel type")
      .Run();
  OpCase("ScaleAndTranslateGrad")
      .Reference(PlacedBackward)
      .NoGradient("there is none")
      .Try({In({2, 4, 7, 2}), In({2, 5, 4, 2}), scale, move}, wide)
      .Try({In({1, 3, 6, 3}), In({1, 5, 4, 3}), scale, move}, narrow)
      .Bad({In({1, 3, 6, 3}), In({1, 5, 4, 2}), scale, move}, wide, Code::kInvalidArgument, "")
      .Run();
}

TEST(ResampleTest, TablesHaveABound) {
  const auto y = RunOp("ScaleAndTranslate",
                       {Tensor::Of<float>(std::vector<float>(1 << 16), Shape{1, 1, 1 << 16, 1}),
                        Tensor::Vector<int32_t>({1, 1 << 16}), Tensor::Vector<float>({1, 1e-9f}),
                        Tensor::Vector<float>({0, 0})});
  EXPECT_EQ(y.status().code(), Code::kResourceExhausted) << y.status().ToString();
}

}  // namespace
}  // namespace thalweg
