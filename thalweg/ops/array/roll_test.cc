// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/ops/array/test_element_types.h"

namespace thalweg {
namespace {

const AttrMap kTypes = {{"Tshift", DType::kInt32}, {"Taxis", DType::kInt64}};

TEST(RollTest, MovesElementsRound) {
  EveryElementType("Roll")
      .Reference([]<class V>(RefCall<V>& r) {
        r.out = {Array<V>(r.in[0].shape)};
        ForEachIndex(r.out[0].shape, [&](const std::vector<int64_t>& from) {
          std::vector<int64_t> to = from;
          for (int64_t i = 0; i < r.in[1].size(); ++i) {
            auto axis = static_cast<int64_t>(std::real(r.in[2][i]));
            if (axis < 0) axis += r.in[0].shape.rank();
            const int64_t size = r.in[0].shape.dim(static_cast<int>(axis));
            int64_t& at = to[static_cast<size_t>(axis)];
            at = (at + static_cast<int64_t>(std::real(r.in[1][i])) + 100 * size) % size;
          }
          r.out[0].values[static_cast<size_t>(r.out[0].Offset(to))] =
              r.in[0].values[static_cast<size_t>(r.in[0].Offset(from))];
        });
      })
      .Try({In({7}), In({}, {2}), In({}, {0})}, kTypes)
      .Try({In({3, 5, 4}), In({3}, {-1, 12, 3}), In({3}, {0, -2, 1})}, kTypes)
      .Try({In({3, 5, 4}), In({2}, {1, 2}), In({2}, {0, 2})}, kTypes)
      .Try({In({3, 5}), In({2}, {1, -1}), In({2}, {0, 0})}, kTypes)
      .Try({In({3, 0}), In({1}, {1}), In({1}, {1})}, kTypes)
      .Bad({In({}), In({}, {1}), In({}, {0})}, kTypes, Code::kInvalidArgument, "")
      .Bad({In({3}), In({}, {1}), In({}, {1})}, kTypes, Code::kInvalidArgument,
           "axis 1 is out of range")
      .Bad({In({3}), In({2}, {1, 1}), In({1}, {0})}, kTypes, Code::kInvalidArgument,
           "must have the same size")
      .Bad({In({3}), In({1, 1}, {1}), In({1, 1}, {0})}, kTypes, Code::kInvalidArgument,
           "scalar or a 1-D vector")
      .Run();
}

}  // namespace
}  // namespace thalweg
