// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "thalweg/ops/nn/test_slide.h"
#include "thalweg/testing/tolerance.h"

namespace thalweg {
namespace {

// The windows: TestSlide, whose dilations are called rates here.
struct Dilation {
  TestSlide slide;
  explicit Dilation(const RefCall<double>& r)
      : slide(r, r.in[0].shape, r.in[1].shape, r.in[0].shape.dim(3), "rates") {}

  // f(image index, filter index, sum) of the first largest place.
  template <class F>
  void Winner(const RefCall<double>& r, const Index& at, F f) const {
    double best = -std::numeric_limits<double>::infinity();
    Index best_image, best_filter;
    slide.ForEachTap(at, [&](Index tap, const Index& place) {
      tap.push_back(at[3]);
      const double sum = r.in[0].At(place) + r.in[1].At(tap);
      if (sum > best) best = sum, best_image = place, best_filter = tap;
    });
    f(best_image, best_filter, best);
  }
};

// Further apart than the elements of a filter, so that every window has one winner.
std::vector<double> Spread(int n) {
  std::vector<double> values;
  for (int i = 0; i < n; ++i) values.push_back(4 * (i * 7 % n));
  return values;
}
const std::vector<double> kFilter = {0, 1, 2, 3, 3, 2, 1, 0};

AttrMap Attrs(int64_t rows, int64_t columns, int64_t rate, const char* padding) {
  return {{"strides", Index{1, rows, columns, 1}},
          {"rates", Index{1, rate, rate, 1}},
          {"padding", padding}};
}

TEST(Dilation2DTest, Forward) {
  OpCase("Dilation2D")
      .Reference([](RefCall<double>& r) {
        const Dilation d(r);
        r.out = {Array<double>(d.slide.output)};
        ForEachIndex(d.slide.output, [&](const Index& at) {
          d.Winner(r, at, [&](auto&, auto&, double sum) { r.out[0].At(at) = sum; });
        });
      })
      .Try({In({1, 4, 3, 2}, Spread(24)), In({2, 2, 2}, kFilter)}, Attrs(1, 1, 1, "SAME"))
      .Try({In({2, 5, 3, 1}, Spread(30)), In({2, 2, 1}, {3, 0, 1, 2})}, Attrs(2, 1, 2, "VALID"))
      .Try({In({0, 4, 4, 2}), In({2, 2, 2})}, Attrs(1, 1, 1, "VALID"))
      .Bad({In({1, 4, 4, 2}), In({2, 2, 3})}, Attrs(1, 1, 1, "SAME"), Code::kInvalidArgument,
           "depth")
      .Bad({In({1, 1, 2, 2}), In({3, 2, 2})}, Attrs(1, 1, 1, "VALID"), Code::kInvalidArgument,
           "fit")
      .Bad({In({1, 2, 2, 2}), In({2, 2, 2})},
           {{"strides", std::vector<int64_t>{1, 1, 1, 0}},
            {"rates", std::vector<int64_t>{1, 1, 1, 1}},
            {"padding", "SAME"}},
           Code::kUnimplemented, "channel")
      .Bad({In({1, 2, 2, 2}), In({2, 2, 2})}, Attrs(0, 1, 1, "VALID"), Code::kInvalidArgument,
           "strides")
      .Run();
}

TEST(Dilation2DTest, Gradients) {
  for (const bool by_filter : {false, true}) {
    OpCase(by_filter ? "Dilation2DBackpropFilter" : "Dilation2DBackpropInput")
        .Reference([by_filter](RefCall<double>& r) {
          const Dilation d(r);
          r.out = {Array<double>(r.in[by_filter ? 1 : 0].shape)};
          ForEachIndex(d.slide.output, [&](const Index& at) {
            d.Winner(r, at, [&](const Index& image, const Index& filter, double) {
              r.out[0].At(by_filter ? filter : image) += r.in[2].At(at);
            });
          });
        })
        .Tolerance(DType::kHalf, ToleranceOf(OpClass::kMorphology, DType::kHalf))
        .Tolerance(DType::kBfloat16, ToleranceOf(OpClass::kMorphology, DType::kBfloat16))
        .Try({In({1, 4, 3, 2}, Spread(24)), In({2, 2, 2}, kFilter), In({1, 4, 3, 2}).Range(0, 3)},
             Attrs(1, 1, 1, "SAME"))
        .Try({In({2, 5, 3, 1}, Spread(30)), In({2, 2, 1}, {3, 0, 1, 2}),
              In({2, 2, 1, 1}).Range(0, 3)},
             Attrs(2, 1, 2, "VALID"))
        .Bad({In({1, 4, 4, 2}), In({2, 2, 2}), In({1, 4, 4, 2})}, Attrs(1, 1, 1, "VALID"),
             Code::kInvalidArgument, "out_backprop")
        .Run();
  }
}

// As TensorFlow gives it: NaN wins no window, ties go to the first place.
TEST(Dilation2DTest, NotANumberAndTies) {
  const float image[] = {std::nanf(""), 1, 2, 3}, zeros[4] = {};
  const Shape shape{1, 2, 2, 1};
  const Tensor filter = Tensor::Of<float>(zeros, Shape{2, 2, 1});
  const AttrMap attrs = Attrs(1, 1, 1, "VALID");
  EXPECT_EQ(
      (*RunOp("Dilation2D", {Tensor::Of<float>(image, shape), filter}, attrs))[0].data<float>()[0],
      3);
  const float one[] = {1};
  const Tensor grad = Tensor::Of<float>(one, Shape{1, 1, 1, 1});
  const auto dx =
      *RunOp("Dilation2DBackpropInput", {Tensor::Of<float>(zeros, shape), filter, grad}, attrs);
  EXPECT_EQ(dx[0].data<float>()[0], 1);
  EXPECT_EQ(dx[0].data<float>()[3], 0);
}

}  // namespace
}  // namespace thalweg
