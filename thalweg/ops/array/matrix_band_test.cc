// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/ops/array/test_element_types.h"

namespace thalweg {
namespace {

TEST(MatrixBandTest, ZerosOutsideTheBand) {
  for (const char* op : {"MatrixBandPart", "BatchMatrixBandPart"}) {
    EveryElementType(op)
        .Reference([]<class V>(RefCall<V>& r) {
          r.out = {r.in[0]};
          const double below = std::real(r.in[1][0]), above = std::real(r.in[2][0]);
          const int rank = r.in[0].shape.rank();
          int64_t next = 0;
          ForEachIndex(r.in[0].shape, [&](const std::vector<int64_t>& at) {
            const auto i = static_cast<double>(at[static_cast<size_t>(rank - 2)]);
            const auto j = static_cast<double>(at[static_cast<size_t>(rank - 1)]);
            const bool in = (below < 0 || i - j <= below) && (above < 0 || j - i <= above);
            if (!in) r.out[0][next] = V{};
            ++next;
          });
        })
        .Try({In({2, 5, 4}), In({}, {1}), In({}, {2})})
        .Try({In({5, 8}), In({}, {-1}), In({}, {0})})
        .Try({In({8, 3}), In({}, {0}), In({}, {-1})})
        .Try({In({8, 3}), In({}, {8}), In({}, {3})})
        .Try({In({0, 3}), In({}, {0}), In({}, {0})})
        .Bad({In({2, 3}), In({}, {3}), In({}, {0})}, {}, Code::kInvalidArgument,
             "number of rows (2) got: 3")
        .Bad({In({2, 3}), In({}, {0}), In({}, {4})}, {}, Code::kInvalidArgument,
             "number of columns (3) got: 4")
        .Bad({In({3}), In({}, {0}), In({}, {0})}, {}, Code::kInvalidArgument, "")
        .Run();
  }
}

}  // namespace
}  // namespace thalweg
