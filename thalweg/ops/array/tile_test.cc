// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/ops/array/test_element_types.h"

namespace thalweg {
namespace {

TEST(TileTest, RepeatsDimensions) {
  EveryElementType("Tile")
      .Reference([]<class V>(RefCall<V>& r) {
        Dims dims;
        const Shape& shape = r.in[0].shape;
        for (int i = 0; i < shape.rank(); ++i) {
          dims.push_back(shape.dim(i) * static_cast<int64_t>(std::real(r.in[1][i])));
        }
        r.out = {Array<V>(Shape(dims))};
        ForEachIndex(r.out[0].shape, [&](const std::vector<int64_t>& at) {
          std::vector<int64_t> from = at;
          for (int i = 0; i < shape.rank(); ++i) from[static_cast<size_t>(i)] %= shape.dim(i);
          r.out[0].At(at) = r.in[0].At(from);
        });
      })
      .Try({In({2, 3}), In({2}, {2, 3})})
      .Try({In({2, 3, 4}), In({3}, {1, 30, 2})}, {{"Tmultiples", DType::kInt64}})
      .Try({In({2, 3}), In({2}, {0, 3})})
      .Try({In({}), In({0}, {})})
      .Bad({In({2, 3}), In({2}, {-1, 3})}, {}, Code::kInvalidArgument,
           "Expected multiples[0] >= 0, but got -1")
      .Bad({In({2, 3}), In({1}, {2})}, {}, Code::kInvalidArgument,
           "Shape must be rank 2 but is rank 1 for ",
           "Expected multiples argument to be a vector of length 2")
      .Bad({In({2}), In({1}, {9e18})}, {{"Tmultiples", DType::kInt64}}, Code::kInvalidArgument, "")
      .Run();
}

TEST(TileGradTest, SumsTiles) {
  OpCase("TileGrad")
      .Reference([]<class V>(RefCall<V>& r) {
        const Shape& outer = r.in[0].shape;
        Dims dims;
        for (int i = 0; i < outer.rank(); ++i) {
          dims.push_back(outer.dim(i) / static_cast<int64_t>(std::real(r.in[1][i])));
        }
        r.out = {Array<V>(Shape(dims))};
        ForEachIndex(outer, [&](const std::vector<int64_t>& at) {
          std::vector<int64_t> to = at;
          for (int i = 0; i < dims.size(); ++i) to[static_cast<size_t>(i)] %= dims[i];
          r.out[0].At(to) += r.in[0].At(at);
        });
      })
      .Try({In({4, 9}), In({2}, {2, 3})})
      .Try({In({2, 30, 4}), In({3}, {1, 30, 2})})
      .Try({In({0, 3}), In({2}, {2, 1})})
      .Bad({In({4, 9}), In({2}, {3, 3})}, {}, Code::kInvalidArgument, "no multiple")
      .Bad({In({4, 9}), In({2}, {0, 3})}, {}, Code::kInvalidArgument, "no multiple")
      .Bad({In({4, 9}), In({1}, {2})}, {}, Code::kInvalidArgument, "")
      .Run();
}

}  // namespace
}  // namespace thalweg
