// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/ops/array/test_element_types.h"

namespace thalweg {
namespace {

TEST(OneHotTest, PutsTheValueWhereIndicesSay) {
  for (int axis : {-1, 0, 1}) {
    EveryElementType("OneHot")
        .Reference([axis]<class V>(RefCall<V>& r) {
          const int at_axis = axis < 0 ? 2 : axis;
          Dims dims{2, 3};
          dims.insert(at_axis, 4);
          r.out = {Array<V>(Shape(dims))};
          ForEachIndex(r.out[0].shape, [&](const std::vector<int64_t>& at) {
            std::vector<int64_t> by = at;
            by.erase(by.begin() + at_axis);
            const auto index = static_cast<int64_t>(
                std::real(r.in[0].values[static_cast<size_t>(r.in[0].Offset(by))]));
            r.out[0].At(at) = at[static_cast<size_t>(at_axis)] == index ? r.in[2][0] : r.in[3][0];
          });
        })
        .Try({In({2, 3}, {0, 3, 1, 2, -1, 4}), In({}, {4}), In({}, {1}), In({}, {0})},
             {{"axis", axis}})
        .Try({In({2, 3}, {0, 3, 1, 2, 0, 0}), In({}, {4}), In({}, {0}), In({}, {1})},
             {{"axis", axis}, {"TI", DType::kUint8}})
        .Run();
  }
}

TEST(OneHotTest, Refusals) {
  OpCase("OneHot")
      .Types({{"T", DType::kFloat}})
      .Reference([](RefCall<double>& r) {
        r.out = {Array<double>(Shape{2, 0})};
      })
      .Try({In({2}, {0, 1}), In({}, {0}), In({}, {1}), In({}, {0})})
      .Bad({In({2}, {0, 1}), In({}, {-1}), In({}, {1}), In({}, {0})}, {}, Code::kInvalidArgument,
           "Dimension size, given by scalar input 1, must be non-negative but is -1",
           "depth must be non-negative")
      .Bad({In({2}, {0, 1}), In({1}, {1}), In({}, {1}), In({}, {0})}, {}, Code::kInvalidArgument,
           "")
      .Bad({In({2}, {0, 1}), In({}, {1}), In({}, {1}), In({}, {0})}, {{"axis", 2}},
           Code::kInvalidArgument, "axis in the range [-2, 2), but got 2")
      .Trivial("a depth of none")
      .Run();
}

TEST(WhereTest, ListsCoordinates) {
  OpCase("Where")
      .Reference([]<class V>(RefCall<V>& r) {
        std::vector<V> rows;
        int64_t found = 0;
        ForEachIndex(r.in[0].shape, [&](const std::vector<int64_t>& at) {
          if (r.in[0].values[static_cast<size_t>(r.in[0].Offset(at))] == V{}) return;
          ++found;
          for (int64_t position : at) rows.push_back(static_cast<V>(static_cast<double>(position)));
        });
        r.out = {Array<V>(Shape{found, int64_t{r.in[0].shape.rank()}}, rows)};
      })
      .Try({In({2, 3}, {0, 1, 0, 2, 0, 1})})
      .Try({In({4}, {0, 0, 0, 0})})
      .Bad({In({}, {1})}, {}, Code::kInvalidArgument, "scalar")
      .ShapesFromValues("the number of rows depends on the values")
      .Run();
}

}  // namespace
}  // namespace thalweg
