// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/ops/nn/test_slide.h"
#include "thalweg/testing/tolerance.h"

namespace thalweg {
namespace {

// f(image index, filter index, output index) for every product.
template <class F>
void ForEachProduct(const TestSlide& s, F f) {
  ForEachIndex(s.output, [&](const Index& at) {
    const int64_t multiplier = s.filter.dim(3), channel = at[s.channel()];
    s.ForEachTap(at, [&](const Index& tap, const Index& place) {
      Index image = place, filter = tap;
      image[s.channel()] = channel / multiplier;
      filter.push_back(channel / multiplier);
      filter.push_back(channel % multiplier);
      f(image, filter, at);
    });
  });
}

OpCase TolerantDepthwise(const char* op) {
  OpCase made(op);
  made.Tolerance(DType::kHalf, ToleranceOf(OpClass::kConvolution, DType::kHalf))
      .Tolerance(DType::kBfloat16, ToleranceOf(OpClass::kConvolution, DType::kBfloat16))
      .GradStep(1e-4, 1e-5);
  return made;
}

TEST(DepthwiseConvTest, Forward) {
  AttrMap padded = SlideAttrs(2, 1, "EXPLICIT");
  padded.Set("explicit_paddings", Index{0, 0, 2, 1, 0, 3, 0, 0});
  AttrMap negative = padded;
  negative.Set("explicit_paddings", Index{0, 0, -2, 1, 0, 3, 0, 0});
  TolerantDepthwise("DepthwiseConv2dNative")
      .Reference([](RefCall<double>& r) {
        const Shape& f = r.in[1].shape;
        const TestSlide s(r, r.in[0].shape, f, f.dim(2) * f.dim(3));
        r.out = {Array<double>(s.output)};
        ForEachProduct(s, [&](const auto& image, const auto& filter, const auto& out) {
          r.out[0].At(out) += r.in[0].At(image) * r.in[1].At(filter);
        });
      })
      .Try({In({2, 6, 5, 3}), In({3, 2, 3, 1})}, SlideAttrs(2, 1, "SAME"))
      .Try({In({2, 6, 5, 3}), In({3, 2, 3, 2})}, SlideAttrs(2, 2, "SAME"))
      .Try({In({1, 7, 8, 17}), In({3, 3, 17, 1})}, SlideAttrs(2, 1, "VALID", false, 2))
      .Try({In({2, 3, 6, 5}), In({2, 3, 3, 2})}, SlideAttrs(2, 1, "VALID", true))
      .Try({In({1, 3, 4, 37}), In({3, 3, 37, 1})}, SlideAttrs(2, 2, "SAME"))
      .Try({In({1, 4, 5, 2}), In({2, 3, 2, 2})}, padded)
      .Try({In({0, 4, 4, 3}), In({2, 2, 3, 2})}, SlideAttrs(2, 1, "VALID"))
      .Bad({In({1, 4, 4, 3}), In({2, 2, 4, 2})}, SlideAttrs(2, 1, "SAME"), Code::kInvalidArgument,
           "channels")
      .Bad({In({1, 1, 4, 3}), In({3, 2, 3, 2})}, SlideAttrs(2, 1, "VALID"), Code::kInvalidArgument,
           "fit")
      .Bad({In({1, 4, 5, 2}), In({2, 3, 2, 2})}, negative, Code::kInvalidArgument, "negative")
      .Run();
}

TEST(DepthwiseConvTest, BackpropInput) {
  TolerantDepthwise("DepthwiseConv2dNativeBackpropInput")
      .Reference([](RefCall<double>& r) {
        const Shape& f = r.in[1].shape;
        const TestSlide s(r, ShapeFrom(r.in[0]), f, f.dim(2) * f.dim(3));
        r.out = {Array<double>(s.image)};
        ForEachProduct(s, [&](const auto& image, const auto& filter, const auto& out) {
          r.out[0].At(image) += r.in[2].At(out) * r.in[1].At(filter);
        });
      })
      .Try({In({4}, {2, 6, 5, 3}), In({3, 2, 3, 2}), In({2, 6, 5, 6})}, SlideAttrs(2, 1, "SAME"))
      .Try({In({4}, {1, 6, 7, 3}), In({3, 2, 3, 1}), In({1, 2, 3, 3})}, SlideAttrs(2, 2, "VALID"))
      .Try({In({4}, {2, 3, 6, 7}), In({3, 2, 3, 2}), In({2, 6, 3, 4})},
           SlideAttrs(2, 2, "SAME", true))
      .Try({In({4}, {1, 3, 4, 37}), In({3, 3, 37, 1}), In({1, 2, 2, 37})}, SlideAttrs(2, 2, "SAME"))
      .Bad({In({4}, {1, 4, 4, 3}), In({2, 2, 3, 2}), In({1, 4, 4, 6})}, SlideAttrs(2, 1, "VALID"),
           Code::kInvalidArgument, "out_backprop")
      .Bad({In({3}, {1, 4, 4}), In({2, 2, 3, 2}), In({1, 4, 4, 6})}, SlideAttrs(2, 1, "SAME"),
           Code::kInvalidArgument, "")
      .Run();
}

TEST(DepthwiseConvTest, BackpropFilter) {
  TolerantDepthwise("DepthwiseConv2dNativeBackpropFilter")
      .Reference([](RefCall<double>& r) {
        const Shape f = ShapeFrom(r.in[1]);
        const TestSlide s(r, r.in[0].shape, f, f.dim(2) * f.dim(3));
        r.out = {Array<double>(s.filter)};
        ForEachProduct(s, [&](const auto& image, const auto& filter, const auto& out) {
          r.out[0].At(filter) += r.in[2].At(out) * r.in[0].At(image);
        });
      })
      .Try({In({2, 6, 5, 3}), In({4}, {3, 2, 3, 2}), In({2, 6, 5, 6})}, SlideAttrs(2, 1, "SAME"))
      .Try({In({5, 6, 7, 3}), In({4}, {3, 2, 3, 1}), In({5, 2, 3, 3})}, SlideAttrs(2, 2, "VALID"))
      .Try({In({2, 3, 6, 7}), In({4}, {3, 2, 3, 2}), In({2, 6, 3, 4})},
           SlideAttrs(2, 2, "SAME", true))
      .Try({In({1, 3, 4, 37}), In({4}, {3, 3, 37, 1}), In({1, 2, 2, 37})}, SlideAttrs(2, 2, "SAME"))
      .Try({In({0, 4, 4, 3}), In({4}, {2, 2, 3, 2}), In({0, 3, 3, 6})}, SlideAttrs(2, 1, "VALID"))
      .Bad({In({1, 4, 4, 3}), In({4}, {2, 2, 3, 2}), In({1, 4, 4, 6})}, SlideAttrs(2, 1, "VALID"),
           Code::kInvalidArgument, "out_backprop")
      .Run();
}

}  // namespace
}  // namespace thalweg
