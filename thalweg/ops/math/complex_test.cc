// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>

#include "thalweg/testing/op_case.h"

namespace thalweg {
namespace {

using Z = std::complex<double>;

TEST(ComplexTest, Parts) {
  const auto part = [](const char* op, double (*f)(Z)) {
    OpCase(op)
        .Reference([f](RefCall<Z>& r) {
          r.out = {r.in[0]};
          for (Z& z : r.out[0].values) z = f(z);
        })
        .Try({In({7, 31}).Range(0.2, 3)})
        .Try({In({5}).Range(-3, -0.2)})
        .Try({In({})})
        .Try({In({0, 3})})
        .Run();
  };
  part("Angle", [](Z z) { return std::arg(z); });
  part("ComplexAbs", [](Z z) { return std::abs(z); });
  part("Imag", [](Z z) { return z.imag(); });
  part("Real", [](Z z) { return z.real(); });
}

TEST(ComplexTest, Joined) {
  OpCase("Complex")
      .Reference([](RefCall<Z>& r) {
        r.out = {Array<Z>(BroadcastShape(r.in[0].shape, r.in[1].shape))};
        ForEachIndex(r.out[0].shape, [&](const std::vector<int64_t>& at) {
          r.out[0].At(at) = Z(r.in[0].At(at).real(), r.in[1].At(at).real());
        });
      })
      .Try({In({7, 31}), In({7, 31})})
      .Try({In({7, 31}), In({31})})
      .Try({In({5, 1}), In({3})})
      .Try({In({}), In({})})
      .Try({In({0, 3}), In({3})})
      .Bad({In({2}), In({3})}, {}, Code::kInvalidArgument, "")
      .Run();
}

TEST(ComplexTest, Corners) {
  using C = std::complex<float>;
  const float inf = std::numeric_limits<float>::infinity();
  const Tensor z = Tensor::Vector<C>({{0, 0}, {-0.0f, 0.0f}, {-0.0f, -0.0f}, {inf, inf}, {-3, 4}});
  const Tensor angle = (*RunOp("Angle", {z}))[0];
  const float want[] = {0, M_PI, -M_PI, M_PI_4, 2.21429744f};
  for (int i = 0; i < 5; ++i) EXPECT_FLOAT_EQ(angle.data<float>()[i], want[i]);
  const Tensor size = (*RunOp("ComplexAbs", {z}))[0];
  EXPECT_EQ(size.data<float>()[3], inf);
  EXPECT_EQ(size.data<float>()[4], 5);
}

}  // namespace
}  // namespace thalweg
