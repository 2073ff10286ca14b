// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/ops/array/test_element_types.h"

namespace thalweg {
namespace {

const AttrMap kIndices = {{"Tindices", DType::kInt32}};
const AttrMap kUnchecked = {{"Tindices", DType::kInt64}, {"validate_indices", false}};

TEST(SparseToDenseTest, PutsValuesAmongDefaults) {
  EveryElementType("SparseToDense")
      .Reference([]<class V>(RefCall<V>& r) {
        Dims dims;
        for (const V& dim : r.in[1].values) dims.push_back(static_cast<int64_t>(std::real(dim)));
        r.out = {Array<V>(Shape(dims))};
        for (V& value : r.out[0].values) value = r.in[3][0];
        const int64_t rank = dims.size();
        for (int64_t i = 0; i < r.in[0].size() / rank; ++i) {
          int64_t place = 0;
          for (int64_t d = 0; d < rank; ++d) {
            place = place * dims[static_cast<int>(d)] +
                    static_cast<int64_t>(std::real(r.in[0][i * rank + d]));
          }
          r.out[0][place] = r.in[2][r.in[2].size() == 1 ? 0 : i];
        }
      })
      .Try({In({3, 2}, {0, 1, 1, 0, 1, 3}), In({2}, {2, 4}), In({3}), In({}, {1})}, kIndices)
      .Try({In({3}, {1, 3, 4}), In({1}, {6}), In({}, {0}), In({}, {1})}, kIndices)
      .Try({In({}, {2}), In({1}, {6}), In({}, {1}), In({}, {0})}, kIndices)
      .Try({In({3}, {4, 1, 3}), In({1}, {6}), In({3}), In({}, {1})}, kUnchecked)
      .Try({In({0, 2}, {}), In({2}, {2, 2}), In({0}), In({}, {1})}, kIndices)
      .Bad({In({2}, {3, 1}), In({1}, {6}), In({2}), In({}, {1})}, kIndices, Code::kInvalidArgument,
           "indices[1] = [1] is out of order")
      .Bad({In({2}, {3, 3}), In({1}, {6}), In({2}), In({}, {1})}, kIndices, Code::kInvalidArgument,
           "indices[1] = [3] is repeated")
      .Bad({In({1}, {6}), In({1}, {6}), In({1}), In({}, {1})}, kUnchecked, Code::kInvalidArgument,
           "is out of bounds")
      .Bad({In({1}, {-1}), In({1}, {6}), In({1}), In({}, {1})}, kIndices, Code::kInvalidArgument,
           "is out of bounds")
      .Bad({In({1, 1}, {0}), In({2}, {6, 2}), In({1}), In({}, {1})}, kIndices,
           Code::kInvalidArgument, "incorrect number of elements")
      .Bad({In({2}, {0, 1}), In({1}, {6}), In({3}), In({}, {1})}, kIndices, Code::kInvalidArgument,
           "incorrect shape")
      .Bad({In({1}, {0}), In({1}, {-6}), In({1}), In({}, {1})}, kIndices, Code::kInvalidArgument,
           "must be >= 0")
      .Bad({In({1}, {0}), In({1}, {6}), In({1}), In({1}, {1})}, kIndices, Code::kInvalidArgument,
           "")
      .Trivial("truth values may all be the default")
      .Run();
}

}  // namespace
}  // namespace thalweg
