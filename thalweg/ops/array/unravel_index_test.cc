// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/testing/op_case.h"

namespace thalweg {
namespace {

TEST(UnravelIndexTest, GivesCoordinates) {
  OpCase("UnravelIndex")
      .Reference([](RefCall<double>& r) {
        const int64_t n = r.in[0].size(), rank = r.in[1].size();
        r.out = {Array<double>(r.in[0].shape.rank() == 0 ? Shape{rank} : Shape{rank, n})};
        for (int64_t i = 0; i < n; ++i) {
          auto rest = static_cast<int64_t>(r.in[0][i]);
          for (int64_t d = rank - 1; d >= 0; --d) {
            const auto size = static_cast<int64_t>(r.in[1][d]);
            r.out[0][d * n + i] = static_cast<double>(rest % size);
            rest /= size;
          }
        }
      })
      .Try({In({3}, {22, 41, 37}), In({2}, {7, 6})})
      .Try({In({}, {1621}), In({4}, {6, 7, 8, 9})})
      .Bad({In({1}, {42}), In({2}, {7, 6})}, {}, Code::kInvalidArgument, "out of bound")
      .Bad({In({1}, {-1}), In({2}, {7, 6})}, {}, Code::kInvalidArgument, "out of bound")
      .Bad({In({1}, {0}), In({2}, {7, 0})}, {}, Code::kInvalidArgument, "dim of zero")
      .Bad({In({1}, {0}), In({2}, {-7, -6})}, {}, Code::kInvalidArgument, "cannot be negative")
      .Bad({In({1}, {0}), In({2}, {65536, 65536})}, {}, Code::kInvalidArgument, "overflow")
      .Bad({In({1, 1}, {0}), In({1}, {7})}, {}, Code::kInvalidArgument, "scalar or vector")
      .Bad({In({1}, {0}), In({}, {7})}, {}, Code::kInvalidArgument, "")
      .Bad({In({0}, {}), In({1}, {7})}, {}, Code::kInvalidArgument, "empty")
      .Run();
}

}  // namespace
}  // namespace thalweg
