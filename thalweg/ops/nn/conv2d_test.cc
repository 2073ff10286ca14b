// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/ops/nn/test_conv2d.h"
#include "thalweg/testing/tolerance.h"

namespace thalweg {
namespace {

OpCase Tolerant(const char* op) {
  OpCase made(op);
  made.Tolerance(DType::kHalf, ToleranceOf(OpClass::kConvolution, DType::kHalf))
      .Tolerance(DType::kBfloat16, ToleranceOf(OpClass::kConvolution, DType::kBfloat16))
      .GradStep(1e-4, 1e-5);
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
      .Try({In({2, 6, 7, 3}), In({3, 2, 3, 5})}, ConvAttrs(1, 1, "SAME"))
      .Try({In({1, 6, 7, 3}), In({3, 2, 3, 5})}, ConvAttrs(2, 3, "SAME"))
      .Try({In({2, 6, 7, 3}), In({3, 2, 3, 5})}, ConvAttrs(1, 1, "VALID"))
      .Try({In({1, 9, 7, 2}), In({3, 2, 2, 17})}, ConvAttrs(2, 1, "VALID", false, 2))
      .Try({In({2, 3, 6, 7}), In({3, 2, 3, 5})}, ConvAttrs(1, 2, "SAME", true))
      .Try({In({1, 2, 5, 5}), In({2, 2, 2, 3})},
           WithExplicit(ConvAttrs(1, 1, "EXPLICIT", true), {0, 0, 0, 0, 1, 0, 2, 1}))
      .Try({In({1, 4, 5, 2}), In({2, 3, 2, 3})},
           WithExplicit(ConvAttrs(2, 1, "EXPLICIT"), {0, 0, 2, 1, 0, 3, 0, 0}))
      .Try({In({1, 4, 4, 3}), In({1, 1, 3, 2})}, ConvAttrs(1, 1, "VALID"))
      .Try({In({2, 5, 4, 6}), In({3, 2, 2, 9})}, ConvAttrs(1, 1, "SAME"))
      .Try({In({2, 4, 5, 4}), In({3, 2, 2, 6})}, ConvAttrs(2, 1, "VALID", true))
      .Try({In({0, 4, 4, 3}), In({2, 2, 3, 2})}, ConvAttrs(1, 1, "VALID"))
      .Bad({In({1, 4, 4, 3}), In({2, 2, 4, 2})}, ConvAttrs(1, 1, "SAME"), Code::kInvalidArgument,
           "channels")
      .Bad({In({1, 1, 4, 3}), In({3, 3, 3, 2})}, ConvAttrs(1, 1, "VALID"), Code::kInvalidArgument,
           "fit")
      .Bad({In({1, 4, 4, 3}), In({2, 2, 3, 2})}, ConvAttrs(0, 1, "SAME"), Code::kInvalidArgument,
           "strides")
      .Bad({In({4, 4, 3}), In({2, 2, 3, 2})}, ConvAttrs(1, 1, "SAME"), Code::kInvalidArgument, "")
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
      .Try({In({4}, {2, 6, 7, 3}), In({3, 2, 3, 5}), In({2, 6, 7, 5})}, ConvAttrs(1, 1, "SAME"))
      .Try({In({4}, {1, 6, 7, 3}), In({3, 2, 3, 5}), In({1, 2, 3, 5})}, ConvAttrs(2, 2, "VALID"))
      .Try({In({4}, {2, 3, 6, 7}), In({3, 2, 3, 5}), In({2, 5, 3, 4})},
           ConvAttrs(2, 2, "SAME", true))
      .Try({In({4}, {0, 4, 4, 3}), In({2, 2, 3, 2}), In({0, 3, 3, 2})}, ConvAttrs(1, 1, "VALID"))
      .Bad({In({4}, {1, 4, 4, 3}), In({2, 2, 3, 2}), In({1, 4, 4, 2})}, ConvAttrs(1, 1, "VALID"),
           Code::kInvalidArgument, "out_backprop")
      .Bad({In({3}, {1, 4, 4}), In({2, 2, 3, 2}), In({1, 4, 4, 2})}, ConvAttrs(1, 1, "SAME"),
           Code::kInvalidArgument,
           "Conv2DBackpropInput requires input_sizes to contain 4 values or 2 values, but got: 3",
           "")
      .Bad({In({4}, {2, 4, 4, 3}), In({2, 2, 3, 2}), In({1, 4, 4, 2})}, ConvAttrs(1, 1, "SAME"),
           Code::kInvalidArgument, "Dimensions must be equal, but are 2 and 1 for ", "out_backprop")
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
      .Try({In({2, 6, 7, 3}), In({4}, {3, 2, 3, 5}), In({2, 6, 7, 5})}, ConvAttrs(1, 1, "SAME"))
      .Try({In({1, 6, 7, 3}), In({4}, {3, 2, 3, 5}), In({1, 2, 3, 5})}, ConvAttrs(2, 2, "VALID"))
      .Try({In({2, 3, 6, 7}), In({4}, {3, 2, 3, 5}), In({2, 5, 3, 4})},
           ConvAttrs(2, 2, "SAME", true))
      .Try({In({0, 4, 4, 3}), In({4}, {2, 2, 3, 2}), In({0, 3, 3, 2})}, ConvAttrs(1, 1, "VALID"))
      .Bad({In({1, 4, 4, 3}), In({4}, {2, 2, 3, 2}), In({1, 4, 4, 2})}, ConvAttrs(1, 1, "VALID"),
           Code::kInvalidArgument, "out_backprop")
      .Bad({In({1, 4, 4, 3}), In({4}, {2, 2, 3, 2}), In({1, 4, 4, 2})},
           {{"strides", std::vector<int64_t>{1, 1, 1, 2}}, {"padding", "SAME"}},
           Code::kInvalidArgument, "channel")
      .Run();
}

}  // namespace
}  // namespace thalweg
