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
    s.ForEachTap(at, [&](const Index& tap, const Index& place) {
      for (int64_t c = 0; c < s.filter.dim(3); ++c) {
        Index image = place, filter = tap;
        image[s.channel()] = c;
        filter.push_back(c);
        filter.push_back(at[s.channel()]);
        f(image, filter, at);
      }
    });
  });
}

OpCase TolerantConv3d(const char* op) {
  OpCase made(op);
  made.Tolerance(DType::kHalf, ToleranceOf(OpClass::kConvolution, DType::kHalf))
      .Tolerance(DType::kBfloat16, ToleranceOf(OpClass::kConvolution, DType::kBfloat16))
      .GradStep(1e-4, 1e-5);
  return made;
}

AttrMap V1(AttrMap attrs) {
  attrs.Erase("data_format");
  return attrs;
}

TEST(Conv3DTest, Forward) {
  TolerantConv3d("Conv3D")
      .Reference([](RefCall<double>& r) {
        const TestSlide s(r, r.in[0].shape, r.in[1].shape, r.in[1].shape.dim(4));
        r.out = {Array<double>(s.output)};
        ForEachProduct(s, [&](const auto& image, const auto& filter, const auto& out) {
          r.out[0].At(out) += r.in[0].At(image) * r.in[1].At(filter);
        });
      })
      .Try({In({2, 3, 4, 5, 2}), In({2, 3, 2, 2, 3})}, SlideAttrs(3, 1, "SAME"))
      .Try({In({1, 4, 5, 5, 3}), In({2, 2, 3, 3, 4})}, SlideAttrs(3, 2, "VALID"))
      .Try({In({1, 2, 3, 4, 3}), In({2, 2, 2, 2, 3})}, SlideAttrs(3, 1, "SAME", true))
      .Try({In({1, 5, 5, 5, 1}), In({2, 2, 2, 1, 2})}, SlideAttrs(3, 1, "VALID", false, 2))
      .Try({In({0, 4, 4, 4, 3}), In({2, 2, 2, 3, 2})}, SlideAttrs(3, 1, "VALID"))
      .Bad({In({1, 4, 4, 4, 3}), In({2, 2, 2, 4, 2})}, SlideAttrs(3, 1, "SAME"),
           Code::kInvalidArgument, "channels")
      .Bad({In({1, 1, 4, 4, 3}), In({3, 2, 2, 3, 2})}, SlideAttrs(3, 1, "VALID"),
           Code::kInvalidArgument, "fit")
      .Bad({In({1, 2, 4, 4, 3}), In({2, 2, 2, 3, 2})}, SlideAttrs(3, 0, "VALID"),
           Code::kInvalidArgument, "strides")
      .Run();
}

void InputGradReference(RefCall<double>& r, const Shape& image) {
  const TestSlide s(r, image, r.in[1].shape, r.in[1].shape.dim(4));
  r.out = {Array<double>(s.image)};
  ForEachProduct(s, [&](const auto& at, const auto& filter, const auto& out) {
    r.out[0].At(at) += r.in[2].At(out) * r.in[1].At(filter);
  });
}

TEST(Conv3DTest, BackpropInput) {
  TolerantConv3d("Conv3DBackpropInputV2")
      .Reference([](RefCall<double>& r) { InputGradReference(r, ShapeFrom(r.in[0])); })
      .Try({In({5}, {2, 3, 4, 5, 2}), In({2, 3, 2, 2, 3}), In({2, 3, 4, 5, 3})},
           SlideAttrs(3, 1, "SAME"))
      .Try({In({5}, {1, 2, 3, 4, 3}), In({2, 2, 2, 2, 3}), In({1, 3, 2, 2, 2})},
           SlideAttrs(3, 2, "SAME", true))
      .Bad({In({5}, {1, 3, 3, 3, 2}), In({2, 2, 2, 2, 3}), In({1, 3, 3, 3, 3})},
           SlideAttrs(3, 1, "VALID"), Code::kInvalidArgument, "out_backprop")
      .Bad({In({4}, {1, 3, 3, 3}), In({2, 2, 2, 2, 3}), In({1, 2, 2, 2, 3})},
           SlideAttrs(3, 1, "VALID"), Code::kInvalidArgument, "")
      .Run();
  TolerantConv3d("Conv3DBackpropInput")
      .Reference([](RefCall<double>& r) { InputGradReference(r, r.in[0].shape); })
      .Try({In({1, 3, 4, 3, 2}), In({2, 3, 2, 2, 3}), In({1, 3, 4, 3, 3})},
           V1(SlideAttrs(3, 1, "SAME")))
      .Run();
}

void FilterGradReference(RefCall<double>& r, const Shape& filter) {
  const TestSlide s(r, r.in[0].shape, filter, filter.dim(4));
  r.out = {Array<double>(s.filter)};
  ForEachProduct(s, [&](const auto& image, const auto& at, const auto& out) {
    r.out[0].At(at) += r.in[2].At(out) * r.in[0].At(image);
  });
}

TEST(Conv3DTest, BackpropFilter) {
  TolerantConv3d("Conv3DBackpropFilterV2")
      .Reference([](RefCall<double>& r) { FilterGradReference(r, ShapeFrom(r.in[1])); })
      .Try({In({2, 3, 4, 5, 2}), In({5}, {2, 3, 2, 2, 3}), In({2, 3, 4, 5, 3})},
           SlideAttrs(3, 1, "SAME"))
      .Try({In({1, 2, 3, 4, 3}), In({5}, {2, 2, 2, 2, 3}), In({1, 3, 2, 2, 2})},
           SlideAttrs(3, 2, "SAME", true))
      .Try({In({0, 3, 3, 3, 2}), In({5}, {2, 2, 2, 2, 3}), In({0, 2, 2, 2, 3})},
           SlideAttrs(3, 1, "VALID"))
      .Bad({In({1, 3, 3, 3, 2}), In({1, 5}, {2, 2, 2, 2, 3}), In({1, 2, 2, 2, 3})},
           SlideAttrs(3, 1, "VALID"), Code::kInvalidArgument,
           "Shape must be rank 1 but is rank 2 for ",
           "filter_sizes shape must be rank 1 but is rank 2")
      .Bad({In({1, 3, 3, 3, 2}), In({5}, {2, 2, 2, 2, 3}), In({1, 3, 3, 3, 3})},
           SlideAttrs(3, 1, "VALID"), Code::kInvalidArgument, "out_backprop")
      .Run();
  TolerantConv3d("Conv3DBackpropFilter")
      .Reference([](RefCall<double>& r) { FilterGradReference(r, r.in[1].shape); })
      .Try({In({1, 3, 4, 3, 2}), In({2, 3, 2, 2, 3}), In({1, 3, 4, 3, 3})},
           V1(SlideAttrs(3, 1, "SAME")))
      .Run();
}

}  // namespace
}  // namespace thalweg
