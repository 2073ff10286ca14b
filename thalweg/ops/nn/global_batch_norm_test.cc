// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "thalweg/testing/op_case.h"
#include "thalweg/testing/tolerance.h"

namespace thalweg {
namespace {

AttrMap Attrs(bool scale) {
  return {{"variance_epsilon", 0.125f}, {"scale_after_normalization", scale}};
}

TEST(GlobalBatchNormTest, Forward) {
  const In variance = In({3}).Range(0.5, 2);
  OpCase("BatchNormWithGlobalNormalization")
      .Reference([](RefCall<double>& r) {
        const bool scale = r.Attr<bool>("scale_after_normalization");
        r.out = {Array<double>(r.in[0].shape)};
        ForEachIndex(r.in[0].shape, [&](const auto& at) {
          const int64_t c = at[3];
          const double normal = (r.in[0].At(at) - r.in[1][c]) / std::sqrt(r.in[2][c] + 0.125);
          r.out[0].At(at) = normal * (scale ? r.in[4][c] : 1) + r.in[3][c];
        });
      })
      .Tolerance(DType::kHalf, ToleranceOf(OpClass::kBatchNorm, DType::kHalf))
      .Try({In({2, 3, 4, 3}), In({3}), variance, In({3}), In({3})}, Attrs(true))
      .Try({In({2, 3, 4, 3}), In({3}), variance, In({3}), In({3})}, Attrs(false))
      .Try({In({0, 3, 4, 3}), In({3}), variance, In({3}), In({3})}, Attrs(true))
      .Bad({In({2, 3, 4, 3}), In({3}), In({2}), In({3}), In({3})}, Attrs(true),
           Code::kInvalidArgument, "per channel")
      .Bad({In({3, 4, 3}), In({3}), variance, In({3}), In({3})}, Attrs(true),
           Code::kInvalidArgument, "")
      .Run();
}

TEST(GlobalBatchNormTest, Gradient) {
  const In variance = In({3}).Range(0.5, 2);
  OpCase("BatchNormWithGlobalNormalizationGrad")
      .Reference([](RefCall<double>& r) {
        const bool scale = r.Attr<bool>("scale_after_normalization");
        r.out = {Array<double>(r.in[0].shape)};
        for (int i = 1; i < 5; ++i) r.out.emplace_back(Shape{3});
        ForEachIndex(r.in[0].shape, [&](const auto& at) {
          const int64_t c = at[3];
          const double power = r.in[2][c] + 0.125, gamma = scale ? r.in[3][c] : 1;
          const double g = r.in[4].At(at), centered = r.in[0].At(at) - r.in[1][c];
          r.out[0].At(at) = g * gamma / std::sqrt(power);
          r.out[1][c] -= g * gamma / std::sqrt(power);
          r.out[2][c] -= 0.5 * g * gamma * centered * std::pow(power, -1.5);
          r.out[3][c] += g;
          r.out[4][c] += scale ? g * centered / std::sqrt(power) : 0;
        });
      })
      .Tolerance(DType::kHalf, ToleranceOf(OpClass::kBatchNorm, DType::kHalf))
      .Try({In({2, 3, 4, 3}), In({3}), variance, In({3}), In({2, 3, 4, 3})}, Attrs(true))
      .Try({In({2, 3, 4, 3}), In({3}), variance, In({3}), In({2, 3, 4, 3})}, Attrs(false))
      .Bad({In({2, 3, 4, 3}), In({3}), variance, In({3}), In({2, 3, 3, 3})}, Attrs(true),
           Code::kInvalidArgument, "")
      .Run();
}

}  // namespace
}  // namespace thalweg
