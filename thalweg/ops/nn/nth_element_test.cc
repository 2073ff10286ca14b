// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "thalweg/testing/op_case.h"

namespace thalweg {
namespace {

TEST(NthElementTest, Cases) {
  OpCase("NthElement")
      .Reference([](RefCall<double>& r) {
        const Shape& in = r.in[0].shape;
        const int64_t columns = in.dim(in.rank() - 1);
        Dims dims = in.dims();
        dims.resize(in.rank() - 1);
        r.out = {Array<double>(Shape(dims))};
        for (int64_t row = 0; row < r.out[0].size(); ++row) {
          const auto begin = r.in[0].values.begin() + row * columns;
          std::vector<double> sorted(begin, begin + columns);
          std::sort(sorted.begin(), sorted.end());
          if (r.Attr<bool>("reverse")) std::reverse(sorted.begin(), sorted.end());
          r.out[0][row] = sorted[static_cast<size_t>(r.in[1][0])];
        }
      })
      .Try({In({7, 31}).Distinct(), In({}, {5})}, {{"reverse", false}})
      .Try({In({2, 3, 4}).Distinct(), In({}, {0})}, {{"reverse", true}})
      .Try({In({5}).Distinct(), In({}, {4})}, {{"reverse", true}})
      .Try({In({0, 4}), In({}, {2})}, {{"reverse", false}})
      .Bad({In({2, 3}), In({}, {3})}, {}, Code::kInvalidArgument, "more than n")
      .Bad({In({2, 3}), In({}, {-1})}, {}, Code::kInvalidArgument, "negative")
      .Bad({In({}), In({}, {0})}, {}, Code::kInvalidArgument,
           "Shape must be at least rank 1 but is rank 0 for ",
           "Input must be at least rank 1 but is rank 0")
      .Run();
  const float nan = std::nanf("");
  const Tensor row = Tensor::Vector<float>({3, nan, 1, 2});
  for (int n = 0; n < 3; ++n) {
    EXPECT_EQ((*RunOp("NthElement", {row, Tensor::Scalar<int32_t>(n)}))[0].scalar<float>(), n + 1);
  }
  const auto last = *RunOp("NthElement", {row, Tensor::Scalar<int32_t>(3)});
  EXPECT_TRUE(std::isnan(last[0].scalar<float>()));
}

TEST(NthElementTest, TheEndsOfIntegerTypes) {
  constexpr uint64_t kHigh = uint64_t{1} << 63;
  const Tensor wide = Tensor::Vector<uint64_t>({kHigh, 1, ~uint64_t{0}});
  EXPECT_EQ((*RunOp("NthElement", {wide, Tensor::Scalar(1)}))[0].scalar<uint64_t>(), kHigh);
  const Tensor narrow = Tensor::Vector<int8_t>({127, -128, -1});
  EXPECT_EQ((*RunOp("NthElement", {narrow, Tensor::Scalar(0)}))[0].scalar<int8_t>(), -128);
}

}  // namespace
}  // namespace thalweg
