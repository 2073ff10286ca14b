// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "thalweg/testing/op_case.h"
#include "thalweg/testing/tolerance.h"

namespace thalweg {
namespace {

enum class SegmentFold { kSum, kMean, kProd, kMax, kMin };

template <class V>
V Combined(SegmentFold fold, V a, V b) {
  if constexpr (std::is_same_v<V, double>) {
    if (fold == SegmentFold::kMax) return std::max(a, b);
    if (fold == SegmentFold::kMin) return std::min(a, b);
  }
  return fold == SegmentFold::kProd ? a * b : a + b;
}

template <class V>
void Segments(RefCall<V>& r, SegmentFold fold, int64_t segments) {
  const Array<V>&data = r.in[0], &ids = r.in[1];
  const int64_t inner = ids.size() == 0 ? 1 : data.size() / ids.size();
  Dims dims = {segments};
  for (int d = ids.shape.rank(); d < data.shape.rank(); ++d) dims.push_back(data.shape.dim(d));
  Array<V> out{Shape(dims)};
  std::vector<int64_t> counts(static_cast<size_t>(segments), 0);
  if (fold == SegmentFold::kProd) std::fill(out.values.begin(), out.values.end(), V(1));
  for (int64_t i = 0; i < ids.size(); ++i) {
    const auto id = static_cast<int64_t>(std::real(ids[i]));
    if (id < 0) continue;
    const bool first = counts[id]++ == 0;
    for (int64_t k = 0; k < inner; ++k) {
      V& to = out[id * inner + k];
      const V& from = data[i * inner + k];
      to = first ? from : Combined(fold, to, from);
    }
  }
  for (int64_t id = 0; fold == SegmentFold::kMean && id < segments; ++id) {
    for (int64_t k = 0; k < inner && counts[id] > 0; ++k) {
      out[id * inner + k] /= static_cast<double>(counts[id]);
    }
  }
  r.out = {out};
}

void SortedSegments(const char* op, SegmentFold fold) {
  const auto x = [fold](std::initializer_list<int64_t> dims) {
    return fold == SegmentFold::kMean ? In(dims) : In(dims).Distinct();
  };
  const AttrMap int64 = {{"Tindices", DType::kInt64}}, int32 = {{"Tindices", DType::kInt32}};
  OpCase(op)
      .Reference([fold](auto& r) {
        const int64_t count = r.in[1].size();
        const auto last = count == 0 ? -1 : static_cast<int64_t>(std::real(r.in[1][count - 1]));
        Segments(r, fold, last + 1);
      })
      .Tolerance(DType::kHalf, ToleranceOf(OpClass::kArithmetic, DType::kHalf))
      .Tolerance(DType::kBfloat16, ToleranceOf(OpClass::kArithmetic, DType::kBfloat16))
      .ShapesFromValues("the last id says how many segments there are")
      .Try({x({5, 63}), In({5}, {0, 0, 1, 3, 3})}, int32)
      .Try({x({3}), In({3}, {1, 1, 1})}, int64)
      .Try({x({0, 2}), In({0})}, int32)
      .Bad({x({3}), In({3}, {1, 0, 1})}, int32, Code::kInvalidArgument, "not increasing")
      .Bad({x({3}), In({3}, {-1, 0, 1})}, int32, Code::kInvalidArgument, "segment ids must be >= 0")
      .Bad({x({3}), In({2}, {0, 1})}, int32, Code::kInvalidArgument,
           "same size as dimension 0 of input")
      .Run();
}

TEST(SegmentTest, Sorted) {
  SortedSegments("SegmentSum", SegmentFold::kSum);
  SortedSegments("SegmentProd", SegmentFold::kProd);
  SortedSegments("SegmentMax", SegmentFold::kMax);
  SortedSegments("SegmentMin", SegmentFold::kMin);
  SortedSegments("SegmentMean", SegmentFold::kMean);
}

void UnsortedSegments(const char* op, SegmentFold fold) {
  const auto x = [](std::initializer_list<int64_t> dims) { return In(dims).Distinct(); };
  const AttrMap int64 = {{"Tindices", DType::kInt64}}, int32 = {{"Tindices", DType::kInt32}};
  OpCase(op)
      .Reference(
          [fold](auto& r) { Segments(r, fold, static_cast<int64_t>(std::real(r.in[2][0]))); })
      .Tolerance(DType::kHalf, ToleranceOf(OpClass::kArithmetic, DType::kHalf))
      .Tolerance(DType::kBfloat16, ToleranceOf(OpClass::kArithmetic, DType::kBfloat16))
      .Try({x({5, 63}), In({5}, {2, 0, 1, 2, 0}), In({}, {3})}, int32)
      .Try({x({2, 3, 2}), In({2, 3}, {1, -1, 0, 1, 1, 0}), In({}, {2})}, int64)
      .Try({x({3}), In({3}, {0, 0, 0}), In({}, {1})}, int32)
      .Try({x({0, 2}), In({0}), In({}, {0})}, int32)
      .Bad({x({3}), In({3}, {0, 1, 2}), In({}, {2})}, int32, Code::kInvalidArgument,
           "segment_ids[2] = 2 is out of range [0, 2)")
      .Bad({x({3}), In({3}, {0, 1, 2}), In({}, {-1})}, int32, Code::kInvalidArgument, "negative")
      .Bad({x({3}), In({2}, {0, 1}), In({}, {2})}, int32, Code::kInvalidArgument,
           "Dimensions must be equal, but are 3 and 2 for ",
           "data.shape = [3] does not start with segment_ids.shape = [2]")
      .Bad({x({3}), In({3, 1}, {0, 1, 1}), In({}, {2})}, int32, Code::kInvalidArgument,
           "Shape must be at least rank 2 but is rank 1 for ", "does not start with")
      .Run();
}

TEST(SegmentTest, SegmentsWithoutElementsTakeNoMemory) {
  const Tensor data = Tensor::Of<float>({}, Shape{2, 0});
  const int64_t last = int64_t{1} << 60;
  const Result<std::vector<Tensor>> means =
      RunOp("SegmentMean", {data, Tensor::Vector<int64_t>({0, last})});
  ASSERT_TRUE(means.ok()) << means.status().message();
  EXPECT_EQ((*means)[0].shape(), Shape({last + 1, 0}));
}

TEST(SegmentTest, Unsorted) {
  UnsortedSegments("UnsortedSegmentSum", SegmentFold::kSum);
  UnsortedSegments("UnsortedSegmentProd", SegmentFold::kProd);
  UnsortedSegments("UnsortedSegmentMax", SegmentFold::kMax);
  UnsortedSegments("UnsortedSegmentMin", SegmentFold::kMin);
}

TEST(SegmentTest, ProductsWithZeros) {
  OpCase("UnsortedSegmentProd")
      .Reference([](auto& r) { Segments(r, SegmentFold::kProd, 3); })
      .Try({In({6}, {0, 2, 3, 0, 0, 5}), In({6}, {0, 0, 0, 1, 1, 2}), In({}, {3})},
           {{"Tindices", DType::kInt64}})
      .Run();
  OpCase("SegmentProd")
      .Reference([](auto& r) { Segments(r, SegmentFold::kProd, 4); })
      .ShapesFromValues("the last id says how many segments there are")
      .Try({In({7}, {0, 2, 3, 0, 0, 5, 4}), In({7}, {0, 0, 0, 1, 1, 3, 3})},
           {{"Tindices", DType::kInt64}})
      .Run();
}

}  // namespace
}  // namespace thalweg
