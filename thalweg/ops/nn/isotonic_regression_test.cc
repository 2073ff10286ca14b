// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "thalweg/testing/op_case.h"

namespace thalweg {
namespace {

double Mean(const double* x, int64_t begin, int64_t end) {
  double sum = 0;
  for (int64_t i = begin; i < end; ++i) sum += x[i];
  return sum / static_cast<double>(end - begin);
}

// The min-max formula: y[i] is the smallest, over where a run begins, of the largest mean of a run
// from there that reaches i or beyond.
double Fitted(const double* x, int64_t n, int64_t i) {
  double least = std::numeric_limits<double>::infinity();
  for (int64_t begin = 0; begin <= i; ++begin) {
    double most = -std::numeric_limits<double>::infinity();
    for (int64_t end = i + 1; end <= n; ++end) most = std::max(most, Mean(x, begin, end));
    least = std::min(least, most);
  }
  return least;
}

TEST(IsotonicRegressionTest, Cases) {
  OpCase("IsotonicRegression")
      .Reference([](RefCall<double>& r) {
        const Shape& shape = r.in[0].shape;
        const int64_t n = shape.dim(shape.rank() - 1);
        r.out = {Array<double>(shape), Array<double>(shape)};
        for (int64_t at = 0; at < r.out[0].size(); ++at) {
          const int64_t i = at % n;
          r.out[0][at] = Fitted(r.in[0].values.data() + at - i, n, i);
          if (i == 0) continue;
          const bool starts = r.out[0][at] < r.out[0][at - 1] - 1e-6;
          r.out[1][at] = r.out[1][at - 1] + (starts ? 1 : 0);
        }
      })
      .GradOutputs({0})
      .Try({In({6}, {3, 1, 2, 6, 4, 3})})
      .Try({In({6}, {9, 8, 3, 4, 1, 2})})
      .Try({In({3, 5}, {5, 1, 2, 0, -3, 1, 2, 3, 4, 6, 7, 5, 3, 2, 1})})
      .Try({In({2, 0})})
      .Try({In({0, 3})})
      .Bad({In({})}, {}, Code::kInvalidArgument, "")
      .Run();
  // Equal means stay apart, as in TensorFlow.
  const auto tied = *RunOp("IsotonicRegression", {Tensor::Vector<float>({3, 1, 2, 5, 4, 3})});
  const int32_t segments[] = {0, 1, 1, 1, 1, 2};
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(tied[0].data<float>()[i], 3);
    EXPECT_EQ(tied[1].data<int32_t>()[i], segments[i]);
  }
}

}  // namespace
}  // namespace thalweg
