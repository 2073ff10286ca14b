// SPDX-License-Identifier: Apache-2.0
// Random numbers at their edges: parameters that no distribution has, the last numbers of a range,
// orders of small sets, threads.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "thalweg/compute/random/distributions.h"
#include "thalweg/compute/random/index_shuffle.h"
#include "thalweg/compute/random/philox_fill.h"
#include "thalweg/compute/random/sobol.h"
#include "thalweg/compute/random/stochastic_cast.h"
#include "thalweg/compute/test_work.h"

namespace thalweg::compute {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

TEST(DistributionsTest, SenselessParametersGiveNoNumber) {
  DoublePairs numbers(Philox(1, 2));
  for (const double bad : {-1.0, kInfinite, std::nan("")}) {
    EXPECT_TRUE(std::isnan(DrawGamma(numbers, bad))) << bad;
    EXPECT_TRUE(std::isnan(DrawPoisson(numbers, bad, 1e9))) << bad;
    EXPECT_TRUE(std::isnan(DrawBinomial(numbers, bad, 0.5))) << bad;
    EXPECT_TRUE(std::isnan(DrawBinomial(numbers, 10, bad))) << bad;
  }
  EXPECT_TRUE(std::isnan(DrawGamma(numbers, 0)));
  EXPECT_EQ(DrawPoisson(numbers, 0, 1e9), 0);
  EXPECT_EQ(DrawBinomial(numbers, 0, 0.5), 0);
  EXPECT_EQ(DrawBinomial(numbers, 1000, 0), 0);
  EXPECT_EQ(DrawBinomial(numbers, 1000, 1), 1000);
}

TEST(DistributionsTest, TruncatedNormalsStayWithinFarBounds) {
  Philox stream(3, 4);
  float out[50];
  ASSERT_TRUE(DrawTruncatedNormals(stream, {.low = 20, .high = kInfinite}, 50, out));
  for (const float x : out) EXPECT_TRUE(x >= 20 && x < 30) << x;
  ASSERT_TRUE(DrawTruncatedNormals(stream, {.low = 1, .high = 1.0001}, 50, out));
  for (const float x : out) EXPECT_TRUE(x >= 1 && x <= 1.0001f) << x;
  EXPECT_FALSE(DrawTruncatedNormals(stream, {.low = 2, .high = 1}, 50, out));
  EXPECT_FALSE(DrawTruncatedNormals(stream, {.deviation = 0, .low = 0, .high = 1}, 50, out));
  EXPECT_FALSE(DrawTruncatedNormals(stream, {.low = -kInfinite, .high = kInfinite}, 50, out));
}

TEST(IndexShuffleTest, IsAPermutationOfEverySmallSet) {
  for (const uint64_t max_index : {0, 1, 2, 15, 16, 17, 255, 256, 1000}) {
    const IndexShuffle shuffle({1, 2, 3}, max_index, 4);
    std::set<uint64_t> places;
    for (uint64_t i = 0; i <= max_index; ++i) places.insert(shuffle(i));
    EXPECT_EQ(places.size(), max_index + 1);
    EXPECT_EQ(*places.rbegin(), max_index);
  }
}

TEST(PhiloxFillTest, UniformIsBelowOneAndIntegersFillTheWholeRange) {
  EXPECT_EQ(UniformFloat(0), 0);
  EXPECT_LT(UniformFloat(~uint32_t{0}), 1);
  EXPECT_LT(UniformDouble(~uint32_t{0}, ~uint32_t{0}), 1);
  constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
  std::vector<int64_t> out(64);
  TestWork work;
  ASSERT_TRUE(
      FillUniformInt(work, DType::kInt64, Philox(5, 6), kLowest, kLowest + 1, out.data(), 64).ok());
  for (const int64_t x : out) EXPECT_EQ(x, kLowest);
  ASSERT_TRUE(FillUniformInt(work, DType::kInt64, Philox(5, 6), kLowest,
                             std::numeric_limits<int64_t>::max(), out.data(), 64)
                  .ok());
  EXPECT_GT(std::set<int64_t>(out.begin(), out.end()).size(), 60u);
}

// Lengths around a block of the generator; a longer tensor begins like a shorter one.
TEST(PhiloxFillTest, LengthAndThreadsDoNotMatter) {
  std::vector<float> longest(1000);
  TestWork one, four(BestIsaLevel(), 4);
  ASSERT_TRUE(FillNormal(one, DType::kFloat, Philox(7, 8), longest.data(), 1000).ok());
  for (const int64_t n : {0, 1, 3, 4, 5, 999}) {
    std::vector<float> out(n + 1, 77);
    ASSERT_TRUE(FillNormal(four, DType::kFloat, Philox(7, 8), out.data(), n).ok());
    EXPECT_TRUE(std::equal(out.begin(), out.end() - 1, longest.begin()));
    EXPECT_EQ(out.back(), 77);
  }
}

TEST(PhiloxFillTest, TypesWithoutKernels) {
  int32_t out[4];
  TestWork work;
  EXPECT_EQ(FillUniform(work, DType::kInt32, Philox(1, 1), out, 4).code(), Code::kUnimplemented);
  EXPECT_EQ(FillBits(work, DType::kFloat, Philox(1, 1), out, 4).code(), Code::kUnimplemented);
}

TEST(StochasticCastTest, WholeNumbersStayAndTheRestSaturates) {
  const float x[] = {NAN, INFINITY, -INFINITY, 1e10f, -129, 5, -3};
  int8_t out[7];
  TestWork work;
  ASSERT_TRUE(StochasticCast(work, DType::kFloat, DType::kInt8, Philox(1, 2), x, out, 7).ok());
  const int8_t expected[] = {0, 127, -128, 127, -128, 5, -3};
  for (int i = 0; i < 7; ++i) EXPECT_EQ(out[i], expected[i]) << i;
}

TEST(SobolTest, SkippingIsTheSameAsNotLooking) {
  std::vector<double> all(30), rest(15);
  TestWork work;
  ASSERT_TRUE(SobolPoints(work, DType::kDouble, {.dims = 3, .count = 10}, all.data()).ok());
  ASSERT_TRUE(
      SobolPoints(work, DType::kDouble, {.dims = 3, .count = 5, .skip = 5}, rest.data()).ok());
  EXPECT_TRUE(std::equal(rest.begin(), rest.end(), all.begin() + 15));
  EXPECT_EQ(all[0], 0.5);
  EXPECT_EQ(SobolPoints(work, DType::kHalf, {.count = 1}, all.data()).code(), Code::kUnimplemented);
  work.refuse_scratch = true;
  EXPECT_EQ(SobolPoints(work, DType::kDouble, {.count = 1}, all.data()).code(),
            Code::kResourceExhausted);
}

}  // namespace
}  // namespace thalweg::compute
