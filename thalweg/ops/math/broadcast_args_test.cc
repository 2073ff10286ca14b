// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/testing/op_case.h"

namespace thalweg {
namespace {

Array<double> Vector(std::vector<double> values) {
  const auto n = static_cast<int64_t>(values.size());
  return Array<double>(Shape{n}, std::move(values));
}

TEST(BroadcastArgsTest, GradientArgs) {
  OpCase("BroadcastGradientArgs")
      .Reference([](RefCall<double>& r) {
        const auto &a = r.in[0], &b = r.in[1];
        const int64_t rank = std::max(a.size(), b.size());
        std::vector<double> axes[2];
        for (int64_t d = 0; d < rank; ++d) {
          const int64_t ia = d - (rank - a.size()), ib = d - (rank - b.size());
          if (ia < 0 || a[ia] == 1) axes[0].push_back(static_cast<double>(d));
          if (ib < 0 || b[ib] == 1) axes[1].push_back(static_cast<double>(d));
        }
        r.out = {Vector(axes[0]), Vector(axes[1])};
      })
      .ShapesFromValues("the number of axes depends on the sizes")
      .Try({In({3}, {2, 3, 5}), In({1}, {1})})
      .Try({In({3}, {2, 1, 5}), In({4}, {7, 1, 3, 5})})
      .Try({In({2}, {1, 1}), In({2}, {1, 1})})
      .Try({In({2}, {0, 4}), In({2}, {1, 4})})
      .Try({In({0}), In({1}, {3})})
      .Try({In({0}), In({0})})
      .Bad({In({2}, {2, 3}), In({2}, {2, 4})}, {}, Code::kInvalidArgument, "Incompatible shapes")
      .Bad({In({}, {2}), In({2}, {2, 4})}, {}, Code::kInvalidArgument, "")
      .Run();
}

TEST(BroadcastArgsTest, Args) {
  OpCase("BroadcastArgs")
      .Reference([](RefCall<double>& r) {
        const auto &a = r.in[0], &b = r.in[1];
        const int64_t rank = std::max(a.size(), b.size());
        std::vector<double> sizes;
        for (int64_t d = 0; d < rank; ++d) {
          const int64_t ia = d - (rank - a.size()), ib = d - (rank - b.size());
          const double x = ia < 0 ? 1 : a[ia], y = ib < 0 ? 1 : b[ib];
          sizes.push_back(x == 1 ? y : x);
        }
        r.out = {Vector(sizes)};
      })
      .Try({In({3}, {2, 1, 5}), In({4}, {7, 1, 3, 5})})
      .Try({In({2}, {0, 4}), In({2}, {1, 1})})
      .Try({In({3}, {4, 2, 3}), In({0}, {})})
      .Bad({In({2}, {2, 3}), In({2}, {2, 4})}, {}, Code::kInvalidArgument,
           "Incompatible shapes: [2,3] vs. [2,4]")
      .Run();
}

}  // namespace
}  // namespace thalweg
