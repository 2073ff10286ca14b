// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/ops/array/test_element_types.h"

namespace thalweg {
namespace {

template <class V>
void GatherReference(RefCall<V>& r, int axis, int batch) {
  const Shape& params = r.in[0].shape;
  const Shape& indices = r.in[1].shape;
  Dims dims;
  for (int i = 0; i < axis; ++i) dims.push_back(params.dim(i));
  for (int i = batch; i < indices.rank(); ++i) dims.push_back(indices.dim(i));
  for (int i = axis + 1; i < params.rank(); ++i) dims.push_back(params.dim(i));
  r.out = {Array<V>(Shape(dims))};
  const int picked = indices.rank() - batch;
  ForEachIndex(r.out[0].shape, [&](const std::vector<int64_t>& at) {
    std::vector<int64_t> by(at.begin(), at.begin() + batch);
    by.insert(by.end(), at.begin() + axis, at.begin() + axis + picked);
    std::vector<int64_t> from(at.begin(), at.begin() + axis);
    from.push_back(
        static_cast<int64_t>(std::real(r.in[1].values[static_cast<size_t>(r.in[1].Offset(by))])));
    from.insert(from.end(), at.begin() + axis + picked, at.end());
    r.out[0].At(at) = r.in[0].values[static_cast<size_t>(r.in[0].Offset(from))];
  });
}

const AttrMap kTypes = {{"Tindices", DType::kInt32}, {"Taxis", DType::kInt32}};

TEST(GatherTest, PicksRows) {
  EveryElementType("Gather", "Tparams")
      .Reference([]<class V>(RefCall<V>& r) { GatherReference(r, 0, 0); })
      .Try({In({5, 3}), In({2, 2}, {4, 0, 4, 2})}, {{"Tindices", DType::kInt32}})
      .Try({In({5}), In({}, {3})}, {{"Tindices", DType::kInt64}})
      .Try({In({5, 3}), In({0}, {})}, {{"Tindices", DType::kInt32}})
      .Bad({In({5}), In({1}, {5})}, {{"Tindices", DType::kInt32}}, Code::kInvalidArgument,
           "indices[0] = 5 is not in [0, 5)")
      .Bad({In({}), In({1}, {0})}, {{"Tindices", DType::kInt32}}, Code::kInvalidArgument, "")
      .Run();
}

TEST(GatherV2Test, PicksSlicesAlongAnyAxis) {
  for (int axis : {0, 1, 2}) {
    EveryElementType("GatherV2", "Tparams")
        .Reference([axis]<class V>(RefCall<V>& r) { GatherReference(r, axis, 0); })
        .Try({In({4, 3, 5}), In({2, 2}, {2, 0, 2, 1}), In({}, {double(axis)})}, kTypes)
        .Try({In({4, 3, 5}), In({3}, {2, 0, 1}), In({}, {double(axis - 3)})}, kTypes)
        .Run();
  }
}

TEST(GatherV2Test, BatchByBatch) {
  EveryElementType("GatherV2", "Tparams")
      .Reference([]<class V>(RefCall<V>& r) { GatherReference(r, 1, 1); })
      .Try({In({2, 4, 3}), In({2, 3}, {3, 0, 3, 1, 1, 2}), In({}, {1})},
           {{"Tindices", DType::kInt64}, {"Taxis", DType::kInt32}, {"batch_dims", 1}})
      .Bad({In({2, 4}), In({3, 1}, {0, 0, 0}), In({}, {1})},
           {{"Tindices", DType::kInt32}, {"Taxis", DType::kInt32}, {"batch_dims", 1}},
           Code::kInvalidArgument, "")
      .Bad({In({2, 4}), In({2, 1}, {0, 0}), In({}, {0})},
           {{"Tindices", DType::kInt32}, {"Taxis", DType::kInt32}, {"batch_dims", 1}},
           Code::kInvalidArgument, "must not be greater than axis")
      .NoGradient("the axis is fed here; its gradient wants a constant")
      .Run();
}

TEST(GatherV2Test, Refusals) {
  OpCase("GatherV2")
      .Types({{"Tparams", DType::kFloat}})
      .Reference([]<class V>(RefCall<V>& r) { GatherReference(r, 0, 0); })
      .Try({In({5, 2}), In({2}, {1, 3}), In({}, {0})}, kTypes)
      .Bad({In({5}), In({1}, {0}), In({}, {1})}, kTypes, Code::kInvalidArgument,
           "Shape must be at least rank 2 but is rank 1", "axis in the range [-1, 1), but got 1")
      .Bad({In({0, 2}), In({1}, {0}), In({}, {0})}, kTypes, Code::kInvalidArgument,
           "is not in [0, 0)")
      .Run();
}

}  // namespace
}  // namespace thalweg
