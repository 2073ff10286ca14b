// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/gemm/gemm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <vector>

#include "thalweg/compute/gemm/bfloat16_product.h"
#include "thalweg/compute/gemm/test_bfloat16_units.h"
#include "thalweg/compute/isa/components.h"
#include "thalweg/compute/test_work.h"

namespace thalweg::compute {
namespace {

constexpr Transpose kNo = Transpose::kNo, kYes = Transpose::kYes;

template <class T>
struct Case {
  Case(const GemmShape& s, double range = 1)
      : shape(s),
        a(RandomValues<T>((s.a == kNo ? s.m : s.k) * s.a_stride, -range, range, 1)),
        b(RandomValues<T>((s.b == kNo ? s.k : s.n) * s.b_stride, -range, range, 2)),
        c(RandomValues<T>(s.m * s.c_stride, -range, range, 3)) {}

  // In T's widest relative W.
  template <class W>
  W Expected(int64_t i, int64_t j) const {
    W sum = W(0);
    for (int64_t k = 0; k < shape.k; ++k) {
      const T x = shape.a == kNo ? a[i * shape.a_stride + k] : a[k * shape.a_stride + i];
      const T y = shape.b == kNo ? b[k * shape.b_stride + j] : b[j * shape.b_stride + k];
      if constexpr (std::is_same_v<W, double>) {
        sum += ToDouble(x) * ToDouble(y);
      } else {
        sum += static_cast<W>(x) * static_cast<W>(y);
      }
    }
    return sum;
  }

  GemmShape shape;
  std::vector<T> a, b, c;
};

template <class T>
void CheckReal(IsaLevel level, int threads, const GemmShape& shape, double tolerance) {
  Case<T> t(shape);
  TestWork work(level, threads);
  const std::vector<T> before = t.c;
  ASSERT_TRUE(Gemm(work, kDTypeOf<T>, shape, t.a.data(), t.b.data(), t.c.data()).ok());
  for (int64_t i = 0; i < shape.m; ++i) {
    for (int64_t j = 0; j < shape.n; ++j) {
      ASSERT_NEAR(ToDouble(t.c[i * shape.c_stride + j]), t.template Expected<double>(i, j),
                  tolerance * std::sqrt(static_cast<double>(shape.k) + 1))
          << IsaLevelName(level) << " m=" << shape.m << " n=" << shape.n << " k=" << shape.k
          << " at " << i << "," << j << " ta=" << (shape.a == kYes) << " tb=" << (shape.b == kYes);
    }
    for (int64_t j = shape.n; j < shape.c_stride; ++j) {
      ASSERT_EQ(ToDouble(t.c[i * shape.c_stride + j]), ToDouble(before[i * shape.c_stride + j]))
          << "wrote into the gap between rows";
    }
  }
}

TEST(GemmTest, FloatAndDoubleAgreeWithTheDefinition) {
  const int64_t sizes[][3] = {{1, 1, 1},     {2, 3, 4},     {1, 50, 33},   {50, 1, 33},
                              {5, 33, 300},  {14, 32, 256}, {15, 31, 257}, {64, 64, 64},
                              {29, 100, 40}, {150, 70, 20}, {3, 2100, 5},  {300, 40, 600}};
  for (IsaLevel level : TestLevels()) {
    for (const auto& s : sizes) {
      for (Transpose a : {kNo, kYes}) {
        for (Transpose b : {kNo, kYes}) {
          CheckReal<float>(level, 2, GemmShape::Dense(s[0], s[1], s[2], a, b), 1e-6);
          CheckReal<double>(level, 2, GemmShape::Dense(s[0], s[1], s[2], a, b), 4e-15);
        }
      }
    }
  }
}

TEST(GemmTest, StridesLargerThanRows) {
  for (IsaLevel level : TestLevels()) {
    for (int64_t m : {1, 7, 40}) {
      for (int64_t n : {1, 9, 40}) {
        CheckReal<float>(level, 1, {m, n, 20, kNo, kNo, 23, n + 3, n + 5}, 1e-6);
        CheckReal<float>(level, 1, {m, n, 20, kYes, kYes, m + 2, 29, n + 5}, 1e-6);
      }
    }
  }
}

TEST(GemmTest, BlocksOfColumnsAndDepth) {
  // More than 16 MB of b: several blocks of depth; and more columns than one block holds.
  CheckReal<double>(BestIsaLevel(), 2, GemmShape::Dense(70, 4100, 600), 4e-15);
  CheckReal<double>(BestIsaLevel(), 2, GemmShape::Dense(70, 9000, 3), 4e-15);
  CheckReal<double>(BestIsaLevel(), 2, GemmShape::Dense(30, 9001, 3), 4e-15);
}

TEST(GemmTest, SameBitsForEveryThreadCountAndAtBothFmaLevels) {
  for (Transpose b : {kNo, kYes}) {
    const GemmShape shape = GemmShape::Dense(157, 131, 777, kNo, b);
    Case<float> t(shape);
    std::vector<std::vector<float>> results;
    for (IsaLevel level : TestLevels()) {
      if (level == IsaLevel::kSse4) continue;
      for (int threads : {1, 3}) {
        TestWork work(level, threads);
        std::vector<float> c(157 * 131);
        ASSERT_TRUE(Gemm(work, DType::kFloat, shape, t.a.data(), t.b.data(), c.data()).ok());
        results.push_back(c);
      }
    }
    for (const auto& result : results) EXPECT_EQ(result, results[0]);
  }
}

TEST(GemmTest, EpilogueAddsBiasAndResidualThenRelu) {
  for (IsaLevel level : TestLevels()) {
    for (int64_t m : {1, 20}) {
      for (int64_t k : {0, 30, 600}) {
        const GemmShape shape = GemmShape::Dense(m, 45, k);
        Case<float> t(shape);
        const std::vector<float> bias = RandomValues(45, -1, 1, 9);
        const std::vector<float> residual = t.c;
        TestWork work(level);
        ASSERT_TRUE(Gemm(work, DType::kFloat, shape, t.a.data(), t.b.data(), t.c.data(),
                         {bias.data(), t.c.data(), true})
                        .ok());
        for (int64_t i = 0; i < m * 45; ++i) {
          const double sum = t.Expected<double>(i / 45, i % 45) + bias[i % 45] + residual[i];
          ASSERT_NEAR(t.c[i], sum < 0 ? 0 : sum, 1e-4) << "m=" << m << " k=" << k << " at " << i;
        }
      }
    }
  }
}

TEST(GemmTest, HalfTypesAreComputedInFloat) {
  CheckReal<Half>(BestIsaLevel(), 1, {5, 9, 40, kNo, kYes, 41, 43, 11}, 1e-2);
  CheckReal<Bfloat16>(BestIsaLevel(), 1, GemmShape::Dense(5, 9, 40, kYes, kNo), 1e-1);
}

// Against sums of double: a rounding of the result, and those of the float sums.
void CheckBfloat16(Bfloat16Unit unit, const GemmShape& shape, bool epilogue) {
  Case<Bfloat16> t(shape);
  const std::vector<Bfloat16> bias = RandomValues<Bfloat16>(shape.n, -1, 1, 9), before = t.c;
  const GemmEpilogue with{bias.data(), t.c.data(), true};
  TestWork work(BestIsaLevel(), 2);
  ASSERT_TRUE(Bfloat16Gemm(work, unit, shape, t.a.data(), t.b.data(), nullptr, t.c.data(),
                           epilogue ? with : GemmEpilogue{})
                  .ok());
  for (int64_t i = 0; i < shape.m; ++i) {
    for (int64_t j = 0; j < shape.c_stride; ++j) {
      const auto at = static_cast<size_t>(i * shape.c_stride + j);
      if (j >= shape.n) {
        ASSERT_EQ(ToDouble(t.c[at]), ToDouble(before[at])) << "wrote into the gap between rows";
        continue;
      }
      double sum = t.Expected<double>(i, j);
      if (epilogue) sum += ToDouble(bias[static_cast<size_t>(j)]) + ToDouble(before[at]);
      if (epilogue && sum < 0) sum = 0;
      ASSERT_NEAR(ToDouble(t.c[at]), sum,
                  std::abs(sum) / 256 + 1e-6 * std::sqrt(static_cast<double>(shape.k)))
          << "unit " << static_cast<int>(unit) << " m=" << shape.m << " n=" << shape.n
          << " k=" << shape.k << " at " << i << "," << j << " ta=" << (shape.a == kYes)
          << " tb=" << (shape.b == kYes);
    }
  }
}

TEST(Bfloat16GemmTest, AgreesWithSumsOfDoubleRoundedOnce) {
  const int64_t sizes[][3] = {{1, 1, 1},   {1, 50, 33},   {50, 1, 31},    {16, 16, 32},
                              {17, 33, 2}, {33, 17, 65},  {32, 32, 64},   {5, 33, 300},
                              {29, 90, 1}, {15, 47, 127}, {70, 40, 2100}, {270, 550, 40}};
  for (Bfloat16Unit unit : TestBfloat16Units()) {
    for (const auto& s : sizes) {
      for (Transpose a : {kNo, kYes}) {
        for (Transpose b : {kNo, kYes}) {
          GemmShape shape = GemmShape::Dense(s[0], s[1], s[2], a, b);
          CheckBfloat16(unit, shape, false);
          shape.a_stride += 3;
          shape.b_stride += 5;
          shape.c_stride += 7;
          CheckBfloat16(unit, shape, true);
        }
      }
    }
  }
}

TEST(Bfloat16GemmTest, SameBitsForEveryThreadCount) {
  const GemmShape shape = GemmShape::Dense(300, 1040, 1100, kYes, kYes);
  Case<Bfloat16> t(shape);
  for (Bfloat16Unit unit : TestBfloat16Units()) {
    std::vector<std::vector<Bfloat16>> results;
    for (int threads : {1, 3}) {
      TestWork work(BestIsaLevel(), threads);
      ASSERT_TRUE(
          Bfloat16Gemm(work, unit, shape, t.a.data(), t.b.data(), nullptr, t.c.data(), {}).ok());
      results.push_back(t.c);
    }
    EXPECT_EQ(std::memcmp(results[0].data(), results[1].data(), 2 * results[0].size()), 0);
  }
}

TEST(Bfloat16GemmTest, InfinityAndNotANumberStayInTheirRowsAndSmallestNumbersAreZeros) {
  const GemmShape shape = GemmShape::Dense(3, 20, 5);
  constexpr float kInf = std::numeric_limits<float>::infinity();
  for (Bfloat16Unit unit : TestBfloat16Units()) {
    std::vector<Bfloat16> a(15, Bfloat16(1.0f)), b(100, Bfloat16(1.0f)), c(60);
    a[1] = Bfloat16(kInf);
    a[7] = Bfloat16(std::nanf(""));
    for (int i = 10; i < 15; ++i) a[i] = Bfloat16(1e-39f);
    TestWork work;
    ASSERT_TRUE(
        Bfloat16Gemm(work, unit, shape, a.data(), b.data(), nullptr, c.data(), {.relu = true})
            .ok());
    for (int j = 0; j < 20; ++j) {
      EXPECT_EQ(static_cast<float>(c[j]), kInf);
      EXPECT_TRUE(std::isnan(static_cast<float>(c[20 + j])));
      EXPECT_EQ(static_cast<float>(c[40 + j]), 0.0f);
    }
  }
}

TEST(Bfloat16GemmTest, RefusedScratchAndCancelAreErrors) {
  Case<Bfloat16> t(GemmShape::Dense(64, 64, 64));
  for (Bfloat16Unit unit : TestBfloat16Units()) {
    TestWork work;
    const auto run = [&] {
      return Bfloat16Gemm(work, unit, t.shape, t.a.data(), t.b.data(), nullptr, t.c.data(), {})
          .code();
    };
    work.refuse_scratch = true;
    EXPECT_EQ(run(), Code::kResourceExhausted);
    work.refuse_scratch = false;
    work.cancel = true;
    EXPECT_EQ(run(), Code::kCancelled);
  }
}

TEST(Bfloat16GemmTest, StrictTablesAndLowerLevelsHaveNoUnit) {
  EXPECT_EQ(Bfloat16UnitOf(GetStrictIsaTable(BestIsaLevel())), Bfloat16Unit::kNone);
  EXPECT_EQ(Bfloat16UnitOf(GetIsaTable(IsaLevel::kAvx2)), Bfloat16Unit::kNone);
}

TEST(GemmTest, IntegersWrap) {
  const GemmShape shape = GemmShape::Dense(4, 6, 9, kYes, kYes);
  Case<int64_t> t(shape, 2000000000.0);
  std::vector<int32_t> a(t.a.begin(), t.a.end()), b(t.b.begin(), t.b.end()), c(24);
  TestWork work;
  ASSERT_TRUE(Gemm(work, DType::kInt32, shape, a.data(), b.data(), c.data()).ok());
  ASSERT_TRUE(Gemm(work, DType::kInt64, shape, t.a.data(), t.b.data(), t.c.data()).ok());
  for (int64_t i = 0; i < 24; ++i) {
    const auto sum = t.Expected<__int128>(i / 6, i % 6);
    EXPECT_EQ(t.c[i], static_cast<int64_t>(sum));
    EXPECT_EQ(c[i], static_cast<int32_t>(sum));
  }
}

TEST(GemmTest, BlocksOfIntegers) {
  const GemmShape shape = GemmShape::Dense(11, 600, 70, kNo, kYes);
  Case<int64_t> t(shape, 1000.0);
  TestWork work(BestIsaLevel(), 2);
  ASSERT_TRUE(Gemm(work, DType::kInt64, shape, t.a.data(), t.b.data(), t.c.data()).ok());
  for (int64_t i = 0; i < 11 * 600; ++i) {
    ASSERT_EQ(t.c[i], static_cast<int64_t>(t.Expected<__int128>(i / 600, i % 600))) << i;
  }
}

TEST(GemmTest, ComplexAdjoint) {
  using C = std::complex<float>;
  const std::vector<C> a = {{1, 2}, {3, -1}};
  const std::vector<C> b = {{0, 1}, {2, 2}};
  C c;
  TestWork work;
  const GemmShape shape = GemmShape::Dense(1, 1, 2, Transpose::kConjugate, Transpose::kConjugate);
  ASSERT_TRUE(Gemm(work, DType::kComplex64, shape, a.data(), b.data(), &c).ok());
  EXPECT_EQ(c, std::conj(a[0]) * std::conj(b[0]) + std::conj(a[1]) * std::conj(b[1]));
}

TEST(GemmTest, EmptySizes) {
  TestWork work;
  float c[6] = {1, 1, 1, 1, 1, 1};
  EXPECT_TRUE(Gemm(work, DType::kFloat, GemmShape::Dense(0, 3, 4), nullptr, nullptr, c).ok());
  EXPECT_EQ(c[0], 1);
  EXPECT_TRUE(Gemm(work, DType::kFloat, GemmShape::Dense(2, 3, 0), nullptr, nullptr, c).ok());
  for (float v : c) EXPECT_EQ(v, 0);
}

TEST(GemmTest, OtherTypesAreUnimplemented) {
  TestWork work;
  bool c;
  const Status status = Gemm(work, DType::kBool, GemmShape::Dense(1, 1, 1), &c, &c, &c);
  EXPECT_EQ(status.code(), Code::kUnimplemented);
  EXPECT_NE(status.message().find("bool"), std::string_view::npos);
}

TEST(GemmTest, RefusedScratchAndCancelAreErrors) {
  Case<float> t(GemmShape::Dense(64, 64, 64, kNo, kYes));  // b is packed
  TestWork work;
  work.refuse_scratch = true;
  EXPECT_EQ(Gemm(work, DType::kFloat, t.shape, t.a.data(), t.b.data(), t.c.data()).code(),
            Code::kResourceExhausted);
  work.refuse_scratch = false;
  work.cancel = true;
  EXPECT_EQ(Gemm(work, DType::kFloat, t.shape, t.a.data(), t.b.data(), t.c.data()).code(),
            Code::kCancelled);
}

// The two ways to one product agree to the last bit where both go through tiles.
template <class T>
void CheckPacked(IsaLevel level, const GemmShape& shape) {
  Case<T> t(shape);
  TestWork work(level, 2);
  const auto size = PackedSize(work.isa(), kDTypeOf<T>, shape.n, shape.k);
  ASSERT_TRUE(size.ok());
  const std::vector<T> bias = RandomValues<T>(shape.n, -1, 1, 9), residual = t.c;
  std::vector<double> packed(static_cast<size_t>(*size) + 1, -7.0);  // enough for both types
  std::vector<T> expected = t.c;
  ASSERT_TRUE(PackGemm(work, kDTypeOf<T>, shape, t.b.data(), packed.data()).ok());
  const GemmEpilogue epilogue{bias.data(), residual.data(), true};
  ASSERT_TRUE(
      PackedGemm(work, kDTypeOf<T>, shape, t.a.data(), packed.data(), t.c.data(), epilogue).ok());
  ASSERT_TRUE(
      Gemm(work, kDTypeOf<T>, shape, t.a.data(), t.b.data(), expected.data(), epilogue).ok());
  const bool dots = shape.n == 1 || (shape.b == kYes && shape.m <= 6);
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(ToDouble(t.c[i]), ToDouble(expected[i]), dots ? 1e-2 : 0.0)
        << IsaLevelName(level) << " m=" << shape.m << " n=" << shape.n << " k=" << shape.k << " at "
        << i;
  }
}

TEST(PackedGemmTest, AgreesWithGemm) {
  const int64_t sizes[][3] = {{1, 1, 1},    {1, 300, 300}, {2, 131, 257}, {3, 200, 40},
                              {4, 33, 700}, {20, 65, 600}, {70, 9, 30},   {130, 140, 300}};
  for (IsaLevel level : TestLevels()) {
    for (const auto& s : sizes) {
      for (Transpose b : {kNo, kYes}) {
        CheckPacked<float>(level, GemmShape::Dense(s[0], s[1], s[2], kNo, b));
        CheckPacked<double>(level, GemmShape::Dense(s[0], s[1], s[2], kYes, b));
      }
    }
  }
  CheckPacked<Half>(BestIsaLevel(), GemmShape::Dense(5, 40, 30));
  for (IsaLevel level : TestLevels()) {
    CheckPacked<Bfloat16>(level, GemmShape::Dense(5, 40, 30, kYes, kYes));
    CheckPacked<Bfloat16>(level, GemmShape::Dense(70, 131, 2050, kNo, kYes));
  }
}

TEST(PackedGemmTest, TypesThatDoNotPackAndSizesThatOverflow) {
  const IsaTable& isa = GetIsaTable(BestIsaLevel());
  EXPECT_EQ(PackedType(DType::kInt32), DType::kInvalid);
  EXPECT_EQ(PackedType(DType::kBfloat16), DType::kFloat);
  EXPECT_EQ(PackedSize(isa, DType::kInt32, 4, 4).status().code(), Code::kUnimplemented);
  EXPECT_EQ(PackedSize(isa, DType::kFloat, int64_t{1} << 40, int64_t{1} << 40).status().code(),
            Code::kInvalidArgument);
}

// Rows of a that are a power of two apart are copied before they are used; others are read in
// place.
TEST(GemmTest, BothWaysToReadA) {
  for (IsaLevel level : TestLevels()) {
    for (int64_t stride : {1023, 1024, 1030, 1100}) {
      CheckReal<float>(level, 2, {40, 50, 300, kNo, kNo, stride, 50, 50}, 1e-6);
    }
  }
}

TEST(BatchedGemmTest, OffsetsBroadcast) {
  for (int64_t batch : {0, 1, 3, 50}) {
    const GemmShape shape = GemmShape::Dense(9, 8, 7, kNo, kYes);
    const std::vector<float> a = RandomValues(63 * 50, -1, 1, 1), b = RandomValues(56, -1, 1, 2);
    std::vector<int64_t> a_offsets, b_offsets(static_cast<size_t>(batch), 0);
    for (int64_t i = 0; i < batch; ++i) a_offsets.push_back(63 * (batch - 1 - i));
    std::vector<float> c(static_cast<size_t>(72 * batch)), one(72);
    TestWork work(BestIsaLevel(), 2);
    ASSERT_TRUE(BatchedGemm(work, DType::kFloat, shape, batch, a.data(), a_offsets.data(), b.data(),
                            b_offsets.data(), c.data())
                    .ok());
    for (int64_t i = 0; i < batch; ++i) {
      ASSERT_TRUE(
          Gemm(work, DType::kFloat, shape, a.data() + a_offsets[i], b.data(), one.data()).ok());
      EXPECT_EQ(one, std::vector<float>(c.begin() + 72 * i, c.begin() + 72 * (i + 1)));
    }
  }
}

}  // namespace
}  // namespace thalweg::compute
