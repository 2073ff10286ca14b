// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/ops/array/test_element_types.h"

namespace thalweg {
namespace {

// Positions in dimension i of the input, as Python's slice(begin, end, stride).indices gives them.
std::vector<int64_t> Positions(int64_t dim, int64_t begin, int64_t end, int64_t stride) {
  std::vector<int64_t> positions;
  if (begin < 0) begin += dim;
  if (end < 0) end += dim;
  begin = stride > 0 ? std::clamp<int64_t>(begin, 0, dim) : std::clamp<int64_t>(begin, -1, dim - 1);
  end = stride > 0 ? std::clamp<int64_t>(end, 0, dim) : std::clamp<int64_t>(end, -1, dim - 1);
  for (int64_t at = begin; stride > 0 ? at < end : at > end; at += stride) positions.push_back(at);
  return positions;
}

// Without masks: every dimension is sliced.
template <class V>
void StridedReference(RefCall<V>& r) {
  std::vector<std::vector<int64_t>> taken;
  Dims dims;
  const auto number = [&](size_t input, int64_t i) {
    return static_cast<int64_t>(std::real(r.in[input][i]));
  };
  for (int i = 0; i < r.in[0].shape.rank(); ++i) {
    taken.push_back(Positions(r.in[0].shape.dim(i), number(1, i), number(2, i), number(3, i)));
    dims.push_back(static_cast<int64_t>(taken.back().size()));
  }
  r.out = {Array<V>(Shape(dims))};
  ForEachIndex(r.out[0].shape, [&](const std::vector<int64_t>& at) {
    std::vector<int64_t> from;
    for (size_t i = 0; i < at.size(); ++i) {
      from.push_back(taken[i][static_cast<size_t>(at[i])]);
    }
    r.out[0].At(at) = r.in[0].At(from);
  });
}

TEST(StridedSliceTest, StepsInBothDirections) {
  EveryElementType("StridedSlice")
      .Reference([]<class V>(RefCall<V>& r) { StridedReference(r); })
      .Try({In({5, 6}), In({2}, {1, -1}), In({2}, {-1, -7}), In({2}, {2, -2})},
           {{"Index", DType::kInt32}})
      .Try({In({4, 5, 6}), In({3}, {0, 1, 2}), In({3}, {4, 4, 5}), In({3}, {1, 1, 1})},
           {{"Index", DType::kInt64}})
      .Try({In({64, 64}), In({2}, {16, 0}), In({2}, {48, 64}), In({2}, {1, 1})},
           {{"Index", DType::kInt32}})
      .Try({In({3}), In({1}, {2}), In({1}, {1}), In({1}, {1})}, {{"Index", DType::kInt16}})
      .Bad({In({3}), In({1}, {0}), In({1}, {1}), In({1}, {0})}, {{"Index", DType::kInt32}},
           Code::kInvalidArgument, "strides[0] must be non-zero")
      .Bad({In({3}), In({2}, {0, 0}), In({2}, {1, 1}), In({2}, {1, 1})}, {{"Index", DType::kInt32}},
           Code::kInvalidArgument, "has only 1 dims")
      .Bad({In({3}), In({1}, {3}), In({1}, {4}), In({1}, {1})},
           {{"Index", DType::kInt32}, {"shrink_axis_mask", 1}}, Code::kInvalidArgument,
           "out of bounds")
      .Run();
}

// x[::-1, ..., newaxis, 2] of [2, 3, 4, 5].
TEST(StridedSliceTest, AllMasksAtOnce) {
  EveryElementType("StridedSlice")
      .Reference([]<class V>(RefCall<V>& r) {
        r.out = {Array<V>(Shape{2, 3, 4, 1})};
        for (int64_t a = 0; a < 2; ++a) {
          for (int64_t b = 0; b < 12; ++b) r.out[0][a * 12 + b] = r.in[0][(1 - a) * 60 + b * 5 + 2];
        }
      })
      .Try({In({2, 3, 4, 5}), In({4}, {9, 9, 9, 2}), In({4}, {9, 9, 9, 3}), In({4}, {-1, 1, 1, 1})},
           {{"Index", DType::kInt32},
            {"begin_mask", 1},
            {"end_mask", 1},
            {"ellipsis_mask", 2},
            {"new_axis_mask", 4},
            {"shrink_axis_mask", 8}})
      .Run();
}

TEST(StridedSliceGradTest, PutsTheGradientInItsPlaces) {
  EveryElementType("StridedSliceGrad")
      .Reference([]<class V>(RefCall<V>& r) {
        r.out = {Array<V>(Shape{5, 6})};
        for (int64_t i = 0; i < 2; ++i) {
          for (int64_t j = 0; j < 3; ++j)
            r.out[0][(1 + 2 * i) * 6 + 5 - 2 * j] = r.in[4][i * 3 + j];
        }
      })
      .Try({In({2}, {5, 6}), In({2}, {1, -1}), In({2}, {-1, -7}), In({2}, {2, -2}), In({2, 3})},
           {{"Index", DType::kInt32}})
      .Bad({In({2}, {5, 6}), In({2}, {0, 0}), In({2}, {1, 1}), In({2}, {1, 1}), In({2, 3})},
           {{"Index", DType::kInt32}}, Code::kInvalidArgument, "dy")
      .Run();
}

TEST(StridedSliceAssignTest, WritesIntoAVariable) {
  for (const char* op : {"StridedSliceAssign", "ResourceStridedSliceAssign"}) {
    EveryElementType(op)
        .Reference([]<class V>(RefCall<V>& r) {
          Array<V> after = r.in[0];
          for (int64_t i = 0; i < 2; ++i) after[1 + 2 * i] = r.in[4][i];
          r.out = {after};
        })
        .Try({In({6}), In({1}, {1}), In({1}, {4}), In({1}, {2}), In({2})},
             {{"Index", DType::kInt64}})
        .Bad({In({6}), In({1}, {1}), In({1}, {4}), In({1}, {2}), In({3})},
             {{"Index", DType::kInt64}}, Code::kInvalidArgument, "")
        .Run();
  }
}

TEST(StridedSliceAssignTest, RepeatsAValueThatIsTooSmall) {
  const AttrMap attrs = {{"Index", DType::kInt32}, {"new_axis_mask", 2}, {"shrink_axis_mask", 1}};
  const auto slice = [](In value) {  // x[1, newaxis, 0:4:2, 2:0:-1]
    return std::vector<In>{In({3, 5, 4}).Range(-2, -1), In({4}, {1, 0, 0, 2}),
                           In({4}, {2, 0, 4, 0}), In({4}, {1, 1, 2, -1}), std::move(value)};
  };
  for (const char* op : {"TensorStridedSliceUpdate", "ResourceStridedSliceAssign"}) {
    for (const int kind : {0, 1, 2, 3, 4}) {
      const In values[] = {In({1, 2, 2}), In({2, 1}), In({2}), In({}), In({1, 1, 1, 2, 2})};
      EveryElementType(op)
          .Reference([&]<class V>(RefCall<V>& r) {
            Array<V> after = r.in[0];
            for (int64_t i = 0; i < 2; ++i) {
              for (int64_t j = 0; j < 2; ++j) {
                const int64_t from[] = {i * 2 + j, i, j, 0, i * 2 + j};
                after[20 + i * 2 * 4 + 2 - j] = r.in[4][from[kind]];
              }
            }
            r.out = {after};
          })
          .Try(slice(In(values[kind]).Range(1, 2)), attrs)
          .Bad(slice(In({3})), attrs, Code::kInvalidArgument, "")
          .Bad(slice(In({2, 1, 1, 1})), attrs, Code::kInvalidArgument, "")
          .Trivial("truth values may agree by chance")
          .Run();
    }
  }
}

}  // namespace
}  // namespace thalweg
