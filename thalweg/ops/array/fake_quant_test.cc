// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "thalweg/testing/op_case.h"

namespace thalweg {
namespace {

// The grid over [from, to] from its definition: integers first ... last, of which one is zero.
struct Grid {
  double low, high, step;
  Grid(double from, double to, int64_t bits, bool narrow) {
    const double first = narrow ? 1 : 0, last = std::pow(2.0, static_cast<double>(bits)) - 1;
    step = (to - from) / (last - first);
    const double zero = std::clamp(std::round(first - from / step), first, last);
    low = (first - zero) * step;
    high = (last - zero) * step;
  }
  double Nearest(double x) const {
    return std::round((std::clamp(x, low, high) - low) / step) * step + low;
  }
};

template <class R>
Grid GridOf(const R& r, double from, double to) {
  return {from, to, r.template Attr<int64_t>("num_bits"), r.template Attr<bool>("narrow_range")};
}

const AttrMap kNarrow = {{"num_bits", 4}, {"narrow_range", true}};
// Numbers halfway between grid points, and zero points between integers, would go either way.
const In kX = In({7, 5}).Range(-9, 9);

TEST(FakeQuantTest, FixedRange) {
  OpCase("FakeQuantWithMinMaxArgs")
      .Reference([](RefCall<double>& r) {
        const Grid grid = GridOf(r, static_cast<double>(r.Attr<float>("min")),
                                 static_cast<double>(r.Attr<float>("max")));
        r.out = {r.in[0]};
        for (double& x : r.out[0].values) x = grid.Nearest(x);
      })
      .Try({kX})
      .Try({kX}, {{"num_bits", 4}, {"narrow_range", true}, {"min", -1.0f}, {"max", 5.0f}})
      .Try({In({0, 2})})
      .Bad({kX}, {{"min", 1.0f}, {"max", 1.0f}}, Code::kInvalidArgument, "smaller than max")
      .Bad({kX}, {{"num_bits", 17}}, Code::kInvalidArgument, "between 2 and 16")
      .NoGradient("steps: the gradient is that of the clamp, see the next case")
      .Run();
}

// dx of the clamp to the grid's range.
TEST(FakeQuantTest, GradientOfTheFixedRange) {
  OpCase("FakeQuantWithMinMaxArgsGradient")
      .Reference([](RefCall<double>& r) {
        const Grid grid = GridOf(r, -6, 6);
        r.out = {r.in[0]};
        for (int64_t i = 0; i < r.in[1].size(); ++i) {
          if (r.in[1][i] < grid.low || r.in[1][i] > grid.high) r.out[0][i] = 0;
        }
      })
      .Try({In({7, 5}), kX})
      .Bad({In({3}), In({4})}, {}, Code::kInvalidArgument, "")
      .Run();
}

TEST(FakeQuantTest, OneRange) {
  OpCase("FakeQuantWithMinMaxVars")
      .Reference([](RefCall<double>& r) {
        const Grid grid = GridOf(r, r.in[1][0], r.in[2][0]);
        r.out = {r.in[0]};
        for (double& x : r.out[0].values) x = grid.Nearest(x);
      })
      .Try({kX, In({}, {-3}), In({}, {5})})
      .Try({kX, In({}, {0}), In({}, {3})}, kNarrow)
      .Try({In({}), In({}, {-1}), In({}, {1.1})})
      .Bad({kX, In({1}, {-3}), In({}, {5})}, {}, Code::kInvalidArgument, "")
      .NoGradient("steps: the gradient is that of the clamp, see the next case")
      .Run();
  OpCase("FakeQuantWithMinMaxVarsGradient")
      .Reference([](RefCall<double>& r) {
        const Grid grid = GridOf(r, r.in[2][0], r.in[3][0]);
        r.out = {r.in[0], Array<double>(Shape{}), Array<double>(Shape{})};
        for (int64_t i = 0; i < r.in[1].size(); ++i) {
          const double x = r.in[1][i];
          if (x >= grid.low && x <= grid.high) continue;
          r.out[0][i] = 0;
          r.out[x < grid.low ? 1 : 2][0] += r.in[0][i];
        }
      })
      .Try({In({7, 5}), kX, In({}, {-3}), In({}, {5})})
      .Try({In({7000}), In({7000}).Range(-9, 9), In({}, {-3}), In({}, {5})}, kNarrow)
      .Bad({In({3}), In({4}), In({}, {-3}), In({}, {5})}, {}, Code::kInvalidArgument, "")
      .Run();
}

TEST(FakeQuantTest, ARangeForEachChannel) {
  const In low({5}, {-3, -1, 0, -8, -0.5}), high({5}, {5, 1.1, 2, 0, 7});
  OpCase("FakeQuantWithMinMaxVarsPerChannel")
      .Reference([](RefCall<double>& r) {
        r.out = {r.in[0]};
        for (int64_t i = 0; i < r.in[0].size(); ++i) {
          r.out[0][i] = GridOf(r, r.in[1][i % 5], r.in[2][i % 5]).Nearest(r.in[0][i]);
        }
      })
      .Try({In({3, 7, 5}).Range(-9, 9), low, high})
      .Try({In({5}).Range(-9, 9), low, high}, kNarrow)
      .Try({In({0, 5}), low, high})
      .Bad({In({3, 4}), low, high}, {}, Code::kInvalidArgument,
           "Dimensions must be equal, but are 4 and 5 for ", "min has incorrect size")
      .Bad({In({}), low, high}, {}, Code::kInvalidArgument,
           "Shape must be at least rank 1 but is rank 0 for ", "at least one dimension")
      .NoGradient("steps: the gradient is that of the clamp, see the next case")
      .Run();
  OpCase("FakeQuantWithMinMaxVarsPerChannelGradient")
      .Reference([](RefCall<double>& r) {
        r.out = {r.in[0], Array<double>(Shape{5}), Array<double>(Shape{5})};
        for (int64_t i = 0; i < r.in[1].size(); ++i) {
          const Grid grid = GridOf(r, r.in[2][i % 5], r.in[3][i % 5]);
          const double x = r.in[1][i];
          if (x >= grid.low && x <= grid.high) continue;
          r.out[0][i] = 0;
          r.out[x < grid.low ? 1 : 2][i % 5] += r.in[0][i];
        }
      })
      .Try({In({3, 7, 5}), In({3, 7, 5}).Range(-9, 9), low, high})
      .Try({In({7000, 5}), In({7000, 5}).Range(-9, 9), low, high}, kNarrow)
      .Run();
}

TEST(FakeQuantTest, NanPassesNoGradient) {
  const auto grads =
      RunOp("FakeQuantWithMinMaxVarsGradient", {Tensor::Vector<float>({1, 2, 3, 4}),
                                                Tensor::Vector<float>({-7, 1, 0.5f, std::nanf("")}),
                                                Tensor::Scalar(-1.0f), Tensor::Scalar(0.6f)});
  ASSERT_TRUE(grads.ok()) << grads.status().ToString();
  const std::vector<float> expected = {0, 0, 3, 0};
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ((*grads)[0].data<float>()[i], expected[i]);
}

TEST(FakeQuantTest, AnEmptyRangeGivesZeros) {
  const Tensor x = Tensor::Vector<float>({-7, 1, 0.5f});
  const Tensor zero = Tensor::Scalar(0.0f);
  EXPECT_EQ((*RunOp("FakeQuantWithMinMaxVars", {x, zero, zero}))[0].data<float>()[0], 0.0f);
  const auto grads = RunOp("FakeQuantWithMinMaxVarsGradient", {x, x, zero, zero});
  EXPECT_EQ((*grads)[0].data<float>()[0], -7.0f);
  EXPECT_EQ((*grads)[1].scalar<float>(), 0.0f);
}

}  // namespace
}  // namespace thalweg
