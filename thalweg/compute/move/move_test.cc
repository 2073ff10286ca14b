// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>

#include "thalweg/compute/move/gather.h"
#include "thalweg/compute/move/strided_copy.h"
#include "thalweg/compute/test_work.h"
#include "thalweg/tensor/tensor.h"

namespace thalweg::compute {
namespace {

int64_t Offset(const Dims& strides, const Dims& index) {
  int64_t offset = 0;
  for (int i = 0; i < index.size(); ++i) offset += strides[i] * index[i];
  return offset;
}

// Element by element, the definition.
template <class T>
void SlowCopy(const Dims& dims, const T* from, const Dims& from_strides, T* to,
              const Dims& to_strides) {
  Dims index(dims);
  for (int i = 0; i < index.size(); ++i) index[i] = 0;
  for (;;) {
    to[Offset(to_strides, index)] = from[Offset(from_strides, index)];
    int i = index.size() - 1;
    for (; i >= 0 && ++index[i] == dims[i]; --i) index[i] = 0;
    if (i < 0) return;
  }
}

template <class T>
T Value(int64_t i) {
  if constexpr (std::is_same_v<T, std::string>) {
    return StrCat("element number ", i);
  } else {
    return static_cast<T>(i % 251);
  }
}

template <class T>
void CheckPermutedCopy(const Dims& dims, const std::vector<int>& perm, int threads) {
  // from: dims in the order of perm; every other dimension reversed.
  Dims permuted(dims);
  for (int i = 0; i < dims.size(); ++i) permuted[i] = dims[perm[i]];
  const Dims contiguous = ContiguousStrides(permuted);
  Dims from_strides(dims);
  int64_t offset = 0;
  for (int i = 0; i < dims.size(); ++i) {
    from_strides[perm[i]] = contiguous[i];
    if (i % 2 == 1) {
      offset += contiguous[i] * (permuted[i] - 1);
      from_strides[perm[i]] = -contiguous[i];
    }
  }
  const int64_t n = Shape(dims).num_elements();
  std::vector<T> from(n), want(n), got(n);
  for (int64_t i = 0; i < n; ++i) from[i] = Value<T>(i);
  const Dims to_strides = ContiguousStrides(dims);
  SlowCopy(dims, from.data() + offset, from_strides, want.data(), to_strides);
  TestWork work(BestIsaLevel(), threads);
  ASSERT_TRUE(CopyStrided(work, kDTypeOf<T>, dims, {from.data(), from_strides, offset},
                          {got.data(), to_strides})
                  .ok());
  EXPECT_EQ(got, want);
}

TEST(CopyStridedTest, AgreesWithTheDefinition) {
  const std::vector<std::pair<Dims, std::vector<int>>> cases = {
      {{}, {}},
      {{7}, {0}},
      {{3, 5}, {0, 1}},
      {{3, 5}, {1, 0}},
      {{33, 70}, {1, 0}},
      {{2, 3, 4}, {2, 0, 1}},
      {{17, 3, 40}, {2, 1, 0}},
      {{1, 5, 1, 6}, {3, 2, 1, 0}},
      {{9, 7, 2}, {1, 0, 2}},
      {{5, 8, 3}, {1, 0, 2}},
      {{5, 8, 4}, {1, 0, 2}},
      {{2, 3, 40, 3}, {1, 0, 2, 3}},
      {{3, 2, 5, 3}, {2, 1, 0, 3}},
      {{5, 8, 5}, {1, 0, 2}},
      {{7, 9, 21}, {1, 0, 2}},
      {{3, 2, 800, 17}, {1, 2, 0, 3}},
      {{2, 3, 2, 3, 2, 3, 2}, {6, 0, 5, 1, 4, 2, 3}},
      {{300, 700}, {1, 0}},
      {{200000}, {0}},
  };
  for (const auto& [dims, perm] : cases) {
    for (int threads : {1, 3}) {
      SCOPED_TRACE(Shape(dims).ToString());
      CheckPermutedCopy<uint8_t>(dims, perm, threads);
      CheckPermutedCopy<int16_t>(dims, perm, threads);
      CheckPermutedCopy<float>(dims, perm, threads);
      CheckPermutedCopy<std::complex<double>>(dims, perm, threads);
      CheckPermutedCopy<std::string>(dims, perm, threads);
    }
  }
}

TEST(CopyStridedTest, StrideZeroRepeatsAndEmptyIsNothing) {
  SerialWork work(GetIsaTable(BestIsaLevel()));
  const std::vector<int32_t> from = {1, 2, 3};
  std::vector<int32_t> to(12, -1);
  ASSERT_TRUE(CopyStrided(work, DType::kInt32, Dims{2, 3, 2}, {from.data(), {0, 1, 0}},
                          {to.data(), {6, 2, 1}})
                  .ok());
  EXPECT_EQ(to, (std::vector<int32_t>{1, 1, 2, 2, 3, 3, 1, 1, 2, 2, 3, 3}));
  ASSERT_TRUE(
      CopyStrided(work, DType::kInt32, Dims{2, 0}, {nullptr, {1, 1}}, {nullptr, {1, 1}}).ok());
  EXPECT_EQ(CopyStrided(work, DType::kInvalid, Dims{1}, {nullptr, {1}}, {nullptr, {1}}).code(),
            Code::kInvalidArgument);
}

TEST(CopyStridedTest, ACancelledCopyEnds) {
  TestWork work;
  work.cancel = true;
  std::vector<float> x(10), y(10);
  EXPECT_EQ(CopyElements(work, DType::kFloat, x.data(), y.data(), 10).code(), Code::kCancelled);
}

TEST(GatherRowsTest, PicksRowsOfEveryBatch) {
  SerialWork work(GetIsaTable(BestIsaLevel()));
  std::vector<std::string> params;
  for (int i = 0; i < 2 * 2 * 3 * 2; ++i) params.push_back(StrCat("a rather long text ", i));
  const std::vector<int64_t> indices = {2, 0, 1, -1};
  std::vector<std::string> out(2 * 2 * 2 * 2, "old");
  ASSERT_TRUE(GatherRows(work, DType::kString,
                         {.batch = 2, .outer = 2, .rows = 3, .inner = 2, .count = 2}, params.data(),
                         indices.data(), out.data())
                  .ok());
  for (int b = 0; b < 2; ++b) {
    for (int o = 0; o < 2; ++o) {
      for (int i = 0; i < 2; ++i) {
        for (int k = 0; k < 2; ++k) {
          const int64_t row = indices[b * 2 + i];
          EXPECT_EQ(out[((b * 2 + o) * 2 + i) * 2 + k],
                    row < 0 ? "" : params[((b * 2 + o) * 3 + row) * 2 + k]);
        }
      }
    }
  }
}

TEST(CombineRowsTest, RepeatedIndicesCombineInOrder) {
  TestWork work(BestIsaLevel(), 3);
  const std::vector<int64_t> indices = {1, 0, 1, -1};
  std::vector<float> target = {1, 2, 3, 4};
  const std::vector<float> updates = {10, 20, 30, 40, 50, 60, 70, 80};
  ASSERT_TRUE(CombineRows(work, DType::kFloat, Combine::kAdd, {.inner = 2, .count = 4},
                          indices.data(), updates.data(), target.data())
                  .ok());
  EXPECT_EQ(target, (std::vector<float>{31, 42, 63, 84}));
  ASSERT_TRUE(CombineRows(work, DType::kFloat, Combine::kAssign, {.inner = 2, .count = 4},
                          indices.data(), updates.data(), target.data())
                  .ok());
  EXPECT_EQ(target, (std::vector<float>{30, 40, 50, 60}));
}

TEST(CombineRowsTest, EdgesOfIntegersAndTypes) {
  SerialWork work(GetIsaTable(BestIsaLevel()));
  int32_t least = INT32_MIN;
  const int32_t minus_one = -1, zero = 0;
  ASSERT_TRUE(CombineElements(work, DType::kInt32, Combine::kDiv, 1, &minus_one, &least).ok());
  EXPECT_EQ(least, INT32_MIN);
  EXPECT_EQ(CombineElements(work, DType::kInt32, Combine::kDiv, 1, &zero, &least).code(),
            Code::kInvalidArgument);
  int16_t narrow = 300;
  const int16_t factor = 300;
  ASSERT_TRUE(CombineElements(work, DType::kInt16, Combine::kMul, 1, &factor, &narrow).ok());
  EXPECT_EQ(narrow, static_cast<int16_t>(90000));
  Half half(1.5f);
  const Half other(2.0f);
  ASSERT_TRUE(CombineElements(work, DType::kHalf, Combine::kMax, 1, &other, &half).ok());
  EXPECT_EQ(static_cast<float>(half), 2.0f);
  std::complex<float> c;
  EXPECT_EQ(CombineElements(work, DType::kComplex64, Combine::kMin, 1, &c, &c).code(),
            Code::kUnimplemented);
  std::string text;
  EXPECT_EQ(CombineElements(work, DType::kString, Combine::kSub, 1, &text, &text).code(),
            Code::kUnimplemented);
}

}  // namespace
}  // namespace thalweg::compute
