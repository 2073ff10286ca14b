// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "thalweg/ops/random/test_recorded.h"
#include "thalweg/testing/op_case.h"

namespace thalweg {
namespace {

In Key(std::vector<uint64_t> values) { return In(VectorOf(values)); }

// Whole numbers stay; what int8 cannot hold is the nearest it can.
TEST(StochasticCastTest, WholeNumbers) {
  const In alg(Tensor::Scalar<int32_t>(1)), key = Key({5}), counter = Key({7, 9});
  constexpr Code kBad = Code::kInvalidArgument;
  OpCase("StochasticCastToInt")
      .Trivial("whole numbers stay as they are")
      .Reference([](RefCall<double>& r) { r.out = {r.in[0]}; })
      .Try({In({2, 4}, {-3, -2, -1, 0, 1, 2, 3, 100}), key, counter, alg})
      .Try({In({0, 3}), key, counter, alg})
      .Try({In({}, {-128}), key, counter, alg})
      .Bad({In({3}), Key({5, 6}), counter, alg}, {}, kBad, "")
      .Bad({In({3}), key, Key({7}), alg}, {}, kBad, "counter")
      .Bad({In({3}), key, counter, In(VectorOf<int32_t>({1}))}, {}, kBad, "")
      .Bad({In({3}), key, counter, In(Tensor::Scalar<int32_t>(7))}, {}, kBad, "algorithm")
      .Bad({In({3}), key, counter, In(Tensor::Scalar<int32_t>(2))}, {}, Code::kUnimplemented, "")
      .Run();
}

template <class In, class Out>
std::vector<Out> Cast(const std::vector<In>& values, uint64_t seed) {
  return DrawnBy<Out>("StochasticCastToInt",
                      {VectorOf(values), VectorOf<uint64_t>({seed}), VectorOf<uint64_t>({0, 0}),
                       Tensor::Scalar<int32_t>(3)},
                      {{"Tout", kDTypeOf<Out>}});
}

TEST(StochasticCastTest, Limits) {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> values = {nan, inf, -inf, 1e20f, -1e20f, 2147483648.0f, 128.5f};
  constexpr int32_t kMost = std::numeric_limits<int32_t>::max(), kLeast = -kMost - 1;
  EXPECT_EQ((Cast<float, int8_t>(values, 1)),
            (std::vector<int8_t>{0, 127, -128, 127, -128, 127, 127}));
  std::vector<int32_t> wide = Cast<float, int32_t>(values, 1);
  EXPECT_TRUE(wide.back() == 128 || wide.back() == 129);
  wide.pop_back();
  EXPECT_EQ(wide, (std::vector<int32_t>{0, kMost, kLeast, kMost, kLeast, kMost}));
}

// Up as often as the fraction says; 4 deviations are 0.0087.
TEST(StochasticCastTest, FractionIsTheProbability) {
  for (double value : {0.25, -1.75, 6.5, -0.1}) {
    const double down = std::floor(value);
    const std::vector<int16_t> got = Cast<double, int16_t>(std::vector<double>(40001, value), 31);
    const auto ups = std::count(got.begin(), got.end(), static_cast<int16_t>(down + 1));
    const auto downs = std::count(got.begin(), got.end(), static_cast<int16_t>(down));
    EXPECT_EQ(ups + downs, 40001);
    EXPECT_NEAR(static_cast<double>(ups) / 40001, value - down, 0.01) << value;
    EXPECT_NE(got, (Cast<double, int16_t>(std::vector<double>(40001, value), 32)));
  }
}

}  // namespace
}  // namespace thalweg
