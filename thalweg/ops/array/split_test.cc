// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/ops/array/test_element_types.h"

namespace thalweg {
namespace {

template <class V>
void Cut(RefCall<V>& r, const Array<V>& value, int axis, const std::vector<int64_t>& sizes) {
  int64_t begin = 0;
  for (int64_t size : sizes) {
    Dims dims = value.shape.dims();
    dims[axis] = size;
    Array<V> part{Shape(dims)};
    ForEachIndex(part.shape, [&](const std::vector<int64_t>& at) {
      int64_t from = 0;
      for (int i = 0; i < dims.size(); ++i) {
        from = from * value.shape.dim(i) + at[static_cast<size_t>(i)] + (i == axis ? begin : 0);
      }
      part.At(at) = value[from];
    });
    r.out.push_back(std::move(part));
    begin += size;
  }
}

TEST(SplitTest, CutsIntoEqualParts) {
  EveryElementType("Split")
      .Reference([]<class V>(RefCall<V>& r) {
        int axis = static_cast<int>(std::real(r.in[0][0]));
        if (axis < 0) axis += r.in[1].shape.rank();
        const auto parts = r.template Attr<int64_t>("num_split");
        Cut(r, r.in[1], axis,
            std::vector<int64_t>(static_cast<size_t>(parts), r.in[1].shape.dim(axis) / parts));
      })
      .Try({In({}, {1}), In({3, 8})}, {{"num_split", 4}})
      .Try({In({}, {0}), In({4, 1024})}, {{"num_split", 2}})
      .Try({In({}, {-1}), In({2, 3, 4})}, {{"num_split", 2}})
      .Bad({In({}, {1}), In({3, 8})}, {{"num_split", 3}}, Code::kInvalidArgument,
           "Dimension size must be evenly divisible by 3 but is 8",
           "Number of ways to split should evenly divide the split dimension")
      .Bad({In({}, {2}), In({3, 8})}, {{"num_split", 2}}, Code::kInvalidArgument,
           "Dimension size, given by scalar input 2 must be in range [-2, 2)",
           "-input rank(-2) <= split_dim < input rank (2), but got 2")
      .Run();
}

TEST(SplitVTest, CutsIntoPartsOfGivenSizes) {
  EveryElementType("SplitV")
      .Reference([]<class V>(RefCall<V>& r) {
        const int axis = static_cast<int>(std::real(r.in[2][0]));
        std::vector<int64_t> sizes;
        int64_t rest = r.in[0].shape.dim(axis);
        for (const V& size : r.in[1].values) {
          sizes.push_back(static_cast<int64_t>(std::real(size)));
          rest -= std::max<int64_t>(sizes.back(), 0);
        }
        for (int64_t& size : sizes) size = size < 0 ? rest : size;
        Cut(r, r.in[0], axis, sizes);
      })
      .Try({In({3, 8}), In({3}, {1, 5, 2}), In({}, {1})}, {{"num_split", 3}})
      .Try({In({9, 2}), In({3}, {1, -1, 0}), In({}, {0})},
           {{"num_split", 3}, {"Tlen", DType::kInt32}})
      .Bad({In({3}), In({2}, {1, 1}), In({}, {0})}, {{"num_split", 2}}, Code::kInvalidArgument,
           "can't split axis of size ",
           "Determined shape must either match input shape along split_dim")
      .Bad({In({3}), In({2}, {-1, -1}), In({}, {0})}, {{"num_split", 2}}, Code::kInvalidArgument,
           "only one size")
      .Bad({In({3}), In({2}, {4, -1}), In({}, {0})}, {{"num_split", 2}}, Code::kInvalidArgument,
           "does not fit")
      .Run();
}

}  // namespace
}  // namespace thalweg
