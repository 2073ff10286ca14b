// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/quantized/level_product.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "thalweg/compute/test_work.h"

namespace thalweg::compute {
namespace {

// Levels of all values; the ends of the type are as frequent as the rest together.
std::vector<uint8_t> RandomLevels(int64_t n, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<uint8_t> levels(static_cast<size_t>(n));
  for (uint8_t& level : levels) {
    const uint32_t bits = random();
    const uint8_t ends[] = {0x00, 0xFF, 0x7F, 0x80};
    level = (bits & 0x100) != 0 ? ends[bits >> 9 & 3] : static_cast<uint8_t>(bits);
  }
  return levels;
}

int64_t LevelAt(const LevelMatrix& m, int64_t i, int64_t j, int64_t rows, int64_t columns) {
  const int64_t at = m.transposed ? j * rows + i : i * columns + j;
  return m.dtype == DType::kQint8 ? static_cast<const int8_t*>(m.levels)[at]
                                  : static_cast<const uint8_t*>(m.levels)[at];
}

std::vector<int32_t> Reference(const ProductSize& size, const LevelMatrix& a,
                               const LevelMatrix& b) {
  std::vector<int32_t> c(static_cast<size_t>(size.m * size.n));
  for (int64_t i = 0; i < size.m; ++i) {
    for (int64_t j = 0; j < size.n; ++j) {
      uint64_t sum = 0;
      for (int64_t l = 0; l < size.k; ++l) {
        sum += static_cast<uint64_t>(LevelAt(a, i, l, size.m, size.k) - a.zero) *
               static_cast<uint64_t>(LevelAt(b, l, j, size.k, size.n) - b.zero);
      }
      c[static_cast<size_t>(i * size.n + j)] = static_cast<int32_t>(static_cast<uint32_t>(sum));
    }
  }
  return c;
}

const ProductSize kSizes[] = {{1, 1, 1},    {1, 70, 3},  {3, 8, 4},   {5, 33, 0},
                              {12, 32, 64}, {13, 31, 5}, {97, 65, 7}, {100, 300, 9},
                              {800, 40, 6}, {2, 3, 300}, {100, 70, 8}};

TEST(LevelProductTest, EveryLevelTypeAndZeroGivesTheExactSums) {
  const std::pair<int64_t, int64_t> zeros[] = {
      {0, 0}, {128, 0}, {0, 7}, {-3, 200}, {int64_t{1} << 40, -5}};
  for (const ProductSize& size : kSizes) {
    const auto of_a = RandomLevels(size.m * size.k, 1), of_b = RandomLevels(size.k * size.n, 2);
    for (int forms = 0; forms < 16; ++forms) {
      const auto [a_zero, b_zero] = zeros[static_cast<size_t>(forms + size.k) % std::size(zeros)];
      const LevelMatrix a{.dtype = (forms & 1) != 0 ? DType::kQint8 : DType::kQuint8,
                          .levels = of_a.data(),
                          .zero = a_zero,
                          .transposed = (forms & 2) != 0};
      LevelMatrix b{.dtype = (forms & 4) != 0 ? DType::kQint8 : DType::kQuint8,
                    .levels = of_b.data(),
                    .zero = b_zero,
                    .transposed = (forms & 8) != 0};
      const std::vector<int32_t> expected = Reference(size, a, b);
      for (IsaLevel level : TestLevels()) {
        TestWork work(level, 3);
        std::vector<int32_t> c(expected.size(), -1);
        ASSERT_TRUE(LevelProduct(work, size, a, b, c.data()).ok());
        EXPECT_EQ(c, expected) << size.m << 'x' << size.n << 'x' << size.k << ", forms " << forms
                               << ", " << IsaLevelName(level);
        Scratch<uint8_t> packed(work, PackedLevelsSize(work.isa(), size));
        ASSERT_TRUE(PackLevels(work, size, b, packed.get()).ok());
        b.packed = packed.get();
        std::ranges::fill(c, -1);
        ASSERT_TRUE(LevelProduct(work, size, a, b, c.data()).ok());
        EXPECT_EQ(c, expected) << "packed";
        b.packed = nullptr;
      }
    }
  }
}

TEST(LevelProductTest, SumsWrap) {
  constexpr int64_t kDepth = 70'000;  // times 255 times 255
  const std::vector<uint8_t> levels(kDepth, 255);
  const LevelMatrix a{.dtype = DType::kQuint8, .levels = levels.data()};
  for (IsaLevel level : TestLevels()) {
    TestWork work(level);
    int32_t c = 0;
    ASSERT_TRUE(LevelProduct(work, {1, 1, kDepth}, a, a, &c).ok());
    EXPECT_EQ(c, static_cast<int32_t>(static_cast<uint32_t>(uint64_t{kDepth} * 255 * 255)));
  }
}

TEST(LevelProductTest, RowsMayBeMade) {
  class Counting final : public LevelRows {
   public:
    void Copy(int64_t first, int64_t count, void* to) const override {
      for (int64_t i = 0; i < count * 5; ++i) {
        static_cast<uint8_t*>(to)[i] = static_cast<uint8_t>(first * 5 + i);
      }
    }
  };
  const ProductSize size{200, 40, 5};
  const Counting rows;
  std::vector<uint8_t> stored(1000);
  rows.Copy(0, 200, stored.data());
  const auto of_b = RandomLevels(200, 3);
  const LevelMatrix b{.levels = of_b.data()};
  TestWork work(BestIsaLevel(), 2);
  std::vector<int32_t> c(8000);
  ASSERT_TRUE(LevelProduct(work, size, {.dtype = DType::kQuint8, .rows = &rows}, b, c.data()).ok());
  EXPECT_EQ(c, Reference(size, {.dtype = DType::kQuint8, .levels = stored.data()}, b));
}

TEST(LevelProductTest, OtherTypesRefusedMemoryAndCancelledSteps) {
  const std::vector<uint8_t> levels(64 * 64);
  std::vector<int32_t> c(64 * 64);
  const LevelMatrix a{.levels = levels.data()};
  const LevelMatrix wide{.dtype = DType::kQint16, .levels = levels.data()};
  const ProductSize size{64, 64, 64};
  TestWork work;
  EXPECT_EQ(LevelProduct(work, size, a, wide, c.data()).code(), Code::kUnimplemented);
  EXPECT_EQ(LevelProduct(work, size, wide, a, c.data()).code(), Code::kUnimplemented);
  work.refuse_scratch = true;
  EXPECT_EQ(LevelProduct(work, size, a, a, c.data()).code(), Code::kResourceExhausted);
  work.refuse_scratch = false;
  work.cancel = true;
  EXPECT_EQ(LevelProduct(work, size, a, a, c.data()).code(), Code::kCancelled);
}

}  // namespace
}  // namespace thalweg::compute
