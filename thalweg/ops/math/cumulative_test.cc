// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "thalweg/testing/op_case.h"
#include "thalweg/testing/tolerance.h"

namespace thalweg {
namespace {

template <class V>
void Scanned(RefCall<V>& r, bool product) {
  const Shape& shape = r.in[0].shape;
  auto axis = static_cast<int>(std::real(r.in[1][0]));
  if (axis < 0) axis += shape.rank();
  const bool exclusive = r.template Attr<bool>("exclusive");
  const bool reverse = r.template Attr<bool>("reverse");
  r.out = {Array<V>(shape)};
  ForEachIndex(shape, [&](const std::vector<int64_t>& at) {
    V sum = product ? 1 : 0;
    std::vector<int64_t> place = at;
    for (int64_t i = 0; i < shape.dim(axis); ++i) {
      const int64_t ahead = reverse ? i - at[axis] : at[axis] - i;
      if (ahead < 0 || (exclusive && ahead == 0)) continue;
      place[axis] = i;
      sum = product ? sum * r.in[0].At(place) : sum + r.in[0].At(place);
    }
    r.out[0].At(at) = sum;
  });
}

void Cumulative(const char* op, bool product) {
  const auto x = [&](std::initializer_list<int64_t> dims) {
    return product ? In(dims).Range(0.6, 1.8) : In(dims);
  };
  const AttrMap exclusive = {{"exclusive", true}}, reverse = {{"reverse", true}};
  OpCase(op)
      .Reference([product](auto& r) { Scanned(r, product); })
      .Tolerance(DType::kHalf, ToleranceOf(OpClass::kArithmetic, DType::kHalf))
      .Tolerance(DType::kBfloat16, ToleranceOf(OpClass::kArithmetic, DType::kBfloat16))
      .Tolerance(DType::kComplex64, ToleranceOf(OpClass::kArithmetic, DType::kComplex64))
      .Try({x({7, 31}), In({}, {1})})
      .Try({x({7, 31}), In({}, {0})}, exclusive)
      .Try({x({2, 9, 3}), In({}, {-2})}, reverse)
      .Try({x({5}), In({}, {0})}, {{"exclusive", true}, {"reverse", true}})
      .Try({x({5}), In({}, {0})}, {{"Tidx", DType::kInt64}})
      .Try({x({0, 3}), In({}, {1})})
      .Bad({x({2, 3}), In({}, {2})}, {}, Code::kInvalidArgument, "axis")
      .Bad({x({2, 3}), In({1}, {0})}, {}, Code::kInvalidArgument, "")
      .Trivial("integer products of ones")
      .Run();
}

TEST(CumulativeTest, Sums) { Cumulative("Cumsum", false); }
TEST(CumulativeTest, Products) { Cumulative("Cumprod", true); }

// exp, then sums, then log; nothing is so large that this would fail.
TEST(CumulativeTest, LogsOfSumsOfExponentials) {
  const AttrMap exclusive = {{"exclusive", true}}, reverse = {{"reverse", true}};
  OpCase("CumulativeLogsumexp")
      .Reference([](RefCall<double>& r) {
        for (double& x : r.in[0].values) x = std::exp(x);
        Scanned(r, false);
        for (double& y : r.out[0].values) y = std::log(y);
      })
      .Tolerance(DType::kHalf, ToleranceOf(OpClass::kFunction, DType::kHalf))
      .Try({In({7, 31}), In({}, {1})})
      .Try({In({2, 9, 3}).Range(-30, 30), In({}, {-2})}, reverse)
      .Try({In({5}), In({}, {0})}, {{"Tidx", DType::kInt64}})
      .Try({In({0, 3}), In({}, {1})})
      .Bad({In({2, 3}), In({}, {2})}, {}, Code::kInvalidArgument, "axis")
      .Run();
  OpCase("CumulativeLogsumexp")
      .Reference([](RefCall<double>& r) {
        for (double& x : r.in[0].values) x = std::exp(x);
        Scanned(r, false);
        for (double& y : r.out[0].values) y = std::log(y);
      })
      .NoGradient("the first element is -infinity, of which there are no differences")
      .Tolerance(DType::kHalf, ToleranceOf(OpClass::kFunction, DType::kHalf))
      .Try({In({7, 31}), In({}, {0})}, exclusive)
      .Try({In({5}), In({}, {0})}, {{"exclusive", true}, {"reverse", true}})
      .Run();
}

TEST(CumulativeTest, LogsOfInfiniteSums) {
  const float inf = std::numeric_limits<float>::infinity();
  const Tensor x = Tensor::Vector<float>({-inf, -inf, 1000, -inf, inf, inf, 2});
  const Tensor y = (*RunOp("CumulativeLogsumexp", {x, Tensor::Scalar(0)}))[0];
  const float want[] = {-inf, -inf, 1000, 1000, inf, inf, inf};
  for (int i = 0; i < 7; ++i) EXPECT_EQ(y.data<float>()[i], want[i]) << i;
}

}  // namespace
}  // namespace thalweg
