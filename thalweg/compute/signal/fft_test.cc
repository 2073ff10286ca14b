// SPDX-License-Identifier: Apache-2.0
// Transforms of every length: the definition is the reference.
#include "thalweg/compute/signal/fft.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "thalweg/compute/test_work.h"

namespace thalweg::compute {
namespace {

using Row = std::vector<FftPlan::Number>;

Row RandomRow(int64_t n) {
  const std::vector<double> parts = RandomValues<double>(2 * n);
  Row row;
  for (int64_t i = 0; i < n; ++i) row.emplace_back(parts[2 * i], parts[2 * i + 1]);
  return row;
}

FftPlan::Number ByDefinition(const Row& row, int64_t k) {
  const auto n = static_cast<int64_t>(row.size());
  FftPlan::Number sum = 0;
  for (int64_t j = 0; j < n; ++j) {
    const double turn = -2 * std::numbers::pi * static_cast<double>(j * k % n);
    sum += row[j] * std::polar(1.0, turn / static_cast<double>(n));
  }
  return sum;
}

// 1, primes, powers, a prime that takes Bluestein's way, and one squared.
TEST(FftPlanTest, EveryKindOfLength) {
  TestWork work;
  for (const int64_t n : {1, 2, 3, 4, 5, 6, 7, 11, 13, 16, 30, 97, 101, 128, 251, 10201}) {
    const FftPlan plan(work, n);
    const Row in = RandomRow(n);
    Row row = in, scratch(plan.scratch());
    plan.Run(row.data(), scratch.data(), false);
    const double bound = 1e-13 * static_cast<double>(n);
    for (int64_t k = 0; k < n; k += std::max<int64_t>(1, n / 7)) {
      EXPECT_LE(std::abs(row[k] - ByDefinition(in, k)), bound) << n << " at " << k;
    }
    plan.Run(row.data(), scratch.data(), true);
    for (int64_t j = 0; j < n; ++j) {
      ASSERT_LE(std::abs(row[j] / static_cast<double>(n) - in[j]), bound) << n << " at " << j;
    }
  }
}

TEST(FftTest, RealToComplexAndBackOfOddLengths) {
  TestWork work;
  for (const int64_t n : {1, 2, 5, 8}) {
    const std::vector<float> in = RandomValues(n);
    std::vector<std::complex<float>> half(n / 2 + 1);
    std::vector<float> back(n);
    ASSERT_TRUE(Fft(work, {.kind = FftKind::kRealToComplex, .input = {n}, .length = {n}}, in.data(),
                    half.data())
                    .ok());
    ASSERT_TRUE(
        Fft(work,
            {.kind = FftKind::kComplexToReal, .inverse = true, .input = {n / 2 + 1}, .length = {n}},
            half.data(), back.data())
            .ok());
    for (int64_t i = 0; i < n; ++i) EXPECT_NEAR(back[i], in[i], 1e-6) << n << " at " << i;
  }
}

TEST(FftTest, NothingToTransformAndRefusedScratch) {
  const FftProblem problem{.batch = 0, .input = {4}, .length = {4}};
  TestWork work;
  EXPECT_TRUE(Fft(work, problem, nullptr, nullptr).ok());
  std::vector<std::complex<float>> in(4), out(4);
  work.refuse_scratch = true;
  EXPECT_EQ(Fft(work, {.input = {4}, .length = {4}}, in.data(), out.data()).code(),
            Code::kResourceExhausted);
}

// H3: a prime length of 134 MB made tables of 3 GB that no limit knew of.
TEST(FftTest, TablesOfAPlanAreAskedFor) {
  EXPECT_EQ(FftPlan::TableNumbers(1 << 20), 1 << 20);
  EXPECT_GE(FftPlan::TableNumbers(1'000'003), 3 * (1 << 21));
  TestWork work;
  work.refuse_scratch = true;
  const int64_t n = 16'777'259;
  std::complex<float> none;
  EXPECT_EQ(Fft(work, {.input = {n}, .length = {n}}, &none, &none).code(),
            Code::kResourceExhausted);
}

}  // namespace
}  // namespace thalweg::compute
