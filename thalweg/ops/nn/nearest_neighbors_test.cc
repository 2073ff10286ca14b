// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "thalweg/testing/op_case.h"

namespace thalweg {
namespace {

In K(double k) { return In({}, {k}); }

TEST(NearestNeighborsTest, Cases) {
  OpCase("NearestNeighbors")
      .Reference([](RefCall<double>& r) {
        const int64_t n = r.in[0].shape.dim(0), d = r.in[0].shape.dim(1), m = r.in[1].shape.dim(0);
        const int64_t k = std::min(static_cast<int64_t>(r.in[2].values[0]), m);
        r.out = {Array<double>(Shape{n, k}), Array<double>(Shape{n, k})};
        for (int64_t i = 0; i < n; ++i) {
          std::vector<std::pair<double, int64_t>> all;
          for (int64_t c = 0; c < m; ++c) {
            double sum = 0;
            for (int64_t j = 0; j < d; ++j) {
              sum += std::pow(r.in[0][i * d + j] - r.in[1][c * d + j], 2);
            }
            all.emplace_back(sum, c);
          }
          std::sort(all.begin(), all.end());
          for (int64_t j = 0; j < k; ++j) {
            r.out[0][i * k + j] = static_cast<double>(all[j].second);
            r.out[1][i * k + j] = all[j].first;
          }
        }
      })
      .Try({In({37, 19}), In({11, 19}), K(4)})
      .Try({In({3000, 3}), In({9, 3}), K(1)})
      .Try({In({5, 8}), In({3, 8}), K(7)})  // more than there are
      .Try({In({2, 2}, {0, 0, 1, 1}), In({4, 2}, {0, 1, 1, 0, 2, 2, 1, 1}), K(4)})  // as near
      .Try({In({3, 2}), In({0, 2}), K(2)})
      .Try({In({3, 2}), In({4, 2}), K(0)})
      .Try({In({3, 0}), In({4, 0}), K(2)})
      .Bad({In({0, 2}), In({4, 2}), K(2)}, {}, Code::kInvalidArgument, "points")
      .Bad({In({3, 2}), In({4, 1}), K(2)}, {}, Code::kInvalidArgument, "")
      .Bad({In({3}), In({4, 3}), K(2)}, {}, Code::kInvalidArgument, "")
      .Bad({In({3, 2}), In({2}), K(2)}, {}, Code::kInvalidArgument, "")
      .Bad({In({3, 2}), In({4, 2}), In({1}, {2})}, {}, Code::kInvalidArgument, "")
      .Bad({In({3, 2}), In({4, 2}), K(-1)}, {}, Code::kInvalidArgument, "k must not be negative")
      .Run();
}

// A distance that is no number comes last.
TEST(NearestNeighborsTest, NoNumber) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto out =
      *RunOp("NearestNeighbors", {*Tensor::Vector<float>({0, nan}).Reshaped(Shape{2, 1}),
                                  *Tensor::Vector<float>({nan, 2, 1}).Reshaped(Shape{3, 1}),
                                  Tensor::Scalar<int64_t>(3)});
  const int64_t order[] = {2, 1, 0, 0, 1, 2};
  for (int i = 0; i < 6; ++i) EXPECT_EQ(out[0].data<int64_t>()[i], order[i]);
  EXPECT_EQ(out[1].data<float>()[1], 4);
  EXPECT_TRUE(std::isnan(out[1].data<float>()[2]));
}

}  // namespace
}  // namespace thalweg
