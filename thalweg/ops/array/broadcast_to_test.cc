// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/ops/array/test_element_types.h"

namespace thalweg {
namespace {

TEST(BroadcastToTest, FillsTheShape) {
  EveryElementType("BroadcastTo")
      .Reference([]<class V>(RefCall<V>& r) {
        Dims dims;
        for (const V& dim : r.in[1].values) dims.push_back(static_cast<int64_t>(std::real(dim)));
        const Shape to(dims), from = r.in[0].shape;
        r.out = {Array<V>(to)};
        for (int64_t k = 0; k < to.num_elements(); ++k) {
          int64_t rest = k, at = 0, stride = 1;
          for (int i = to.rank() - 1; i >= 0; --i) {
            const int64_t position = rest % to.dim(i);
            rest /= to.dim(i);
            const int own = i - (to.rank() - from.rank());
            if (own < 0) continue;
            at += from.dim(own) == 1 ? 0 : position * stride;
            stride *= from.dim(own);
          }
          r.out[0].values[static_cast<size_t>(k)] = r.in[0].values[static_cast<size_t>(at)];
        }
      })
      .Try({In({3, 1}), In({3}, {2, 3, 4})})
      .Try({In({4}), In({2}, {5, 4})})
      .Try({In({}), In({1}, {7})})
      .Try({In({1}), In({2}, {0, 1})})
      .Bad({In({3}), In({1}, {4})}, {}, Code::kInvalidArgument,
           "Dimensions must be equal, but are 3 and 4 for ", "Incompatible shapes: [3] vs. [4]")
      .Bad({In({2, 3}), In({1}, {3})}, {}, Code::kInvalidArgument,
           "Shape must be at most rank 1 but is rank 2 for ",
           "Rank of input (2) must be no greater than rank of output shape (1)")
      .Bad({In({3}), In({1}, {-3})}, {}, Code::kInvalidArgument, "")
      .Run();
}

}  // namespace
}  // namespace thalweg
