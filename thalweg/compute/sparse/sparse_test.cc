// SPDX-License-Identifier: Apache-2.0
// Sparse matrices: empty rows, repeated places, conjugates, values that cancel, types without a
// kernel.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numeric>

#include "thalweg/compute/sparse/cholesky.h"
#include "thalweg/compute/sparse/csr.h"
#include "thalweg/compute/sparse/sparse_product.h"
#include "thalweg/compute/test_work.h"

namespace thalweg::compute {
namespace {

using Complex = std::complex<float>;

TEST(CsrTest, TransposeOfEmptyRowsAndConjugates) {
  const int32_t starts[] = {0, 0, 2, 2}, places[] = {0, 3};
  const Complex values[] = {{1, 2}, {3, 4}};
  const CsrView a{.rows = 3, .columns = 4, .starts = starts, .places = places, .values = values};
  std::vector<int32_t> turned(5), rows(2);
  std::vector<Complex> out(2);
  ASSERT_TRUE(
      TransposeCsr(DType::kComplex64, a, true, turned.data(), rows.data(), out.data()).ok());
  EXPECT_EQ(turned, (std::vector<int32_t>{0, 1, 1, 1, 2}));
  EXPECT_EQ(rows, (std::vector<int32_t>{1, 1}));
  EXPECT_EQ(out, (std::vector<Complex>{{1, -2}, {3, -4}}));
  EXPECT_EQ(TransposeCsr(DType::kInt32, a, false, turned.data(), rows.data(), out.data()).code(),
            Code::kUnimplemented);
}

// [1 1] * [1 -1]^T is zero, but has a place.
TEST(CsrTest, WhatCancelsKeepsItsPlace) {
  const int32_t row_starts[] = {0, 2}, row_places[] = {0, 1};
  const int32_t column_starts[] = {0, 1, 2}, column_places[] = {0, 0};
  const double row_values[] = {1, 1}, column_values[] = {1, -1};
  const CsrView a{
      .rows = 1, .columns = 2, .starts = row_starts, .places = row_places, .values = row_values};
  const CsrView b{.rows = 2,
                  .columns = 1,
                  .starts = column_starts,
                  .places = column_places,
                  .values = column_values};
  const auto pattern = ProductPattern(a, b);
  ASSERT_TRUE(pattern.ok());
  EXPECT_EQ(pattern->starts, (std::vector<int32_t>{0, 1}));
  double value = 7;
  ASSERT_TRUE(ProductValues(DType::kDouble, a, b, *pattern, &value).ok());
  EXPECT_EQ(value, 0);
}

TEST(SparseProductTest, RepeatedPlacesAddUp) {
  const int64_t places[] = {0, 1, 0, 1, 1, 0};
  const float values[] = {1, 2, 5}, b[] = {1, 2, 3, 4};
  std::vector<float> out(4, 77);
  const SparseProduct product{.count = 3, .rows = 2, .inner = 2, .columns = 2};
  TestWork work;
  ASSERT_TRUE(MultiplySparse(work, DType::kFloat, product, places, values, b, out.data()).ok());
  EXPECT_EQ(out, (std::vector<float>{9, 12, 5, 10}));
  EXPECT_EQ(MultiplySparse(work, DType::kBool, product, places, values, b, out.data()).code(),
            Code::kUnimplemented);
}

// Sums of 16-bit floats are kept wider, in scratch that may be refused: 2048 + 1 + 1 is no 2048.
TEST(SparseProductTest, NarrowFloatsAreRoundedOnce) {
  const int64_t places[] = {0, 0, 0, 1, 0, 1};
  const Half one = FromDouble<Half>(1), values[] = {FromDouble<Half>(2048), one, one},
             b[] = {one, one};
  Half out;
  const SparseProduct product{.count = 3, .rows = 1, .inner = 2, .columns = 1};
  TestWork work;
  ASSERT_TRUE(MultiplySparse(work, DType::kHalf, product, places, values, b, &out).ok());
  EXPECT_EQ(ToDouble(out), 2050);
  work.refuse_scratch = true;
  EXPECT_EQ(MultiplySparse(work, DType::kHalf, product, places, values, b, &out).code(),
            Code::kResourceExhausted);
}

// An arrow whose first row is full: no row is left out of the factor, and l l^H is the matrix.
TEST(SparseCholeskyTest, AFullFirstColumnFillsTheFactor) {
  constexpr int32_t kSize = 4;
  std::vector<int32_t> starts{0, 1}, places{0};
  std::vector<double> values{4};
  for (int32_t i = 1; i < kSize; ++i) {
    places.insert(places.end(), {0, i});
    values.insert(values.end(), {1, 4});
    starts.push_back(static_cast<int32_t>(places.size()));
  }
  const CsrView a{.rows = kSize,
                  .columns = kSize,
                  .starts = starts.data(),
                  .places = places.data(),
                  .values = values.data()};
  std::vector<int32_t> order(kSize);
  std::iota(order.begin(), order.end(), 0);
  TestWork work;
  const auto plan = SparseCholesky::Plan(work, a, order.data());
  ASSERT_TRUE(plan.ok());
  ASSERT_EQ(plan->starts().back(), kSize * (kSize + 1) / 2);
  std::vector<int32_t> columns(10);
  std::vector<double> l(10);
  ASSERT_TRUE(plan->Factor(work, DType::kDouble, columns.data(), l.data()).ok());
  for (int32_t i = 0; i < kSize; ++i) {
    for (int32_t j = 0; j <= i; ++j) {
      double sum = 0;
      for (int32_t k = 0; k <= j; ++k) {
        sum += l[plan->starts()[i] + k] * l[plan->starts()[j] + k];
      }
      EXPECT_NEAR(sum, i == j ? 4 : j == 0 ? 1 : 0, 1e-14);
    }
  }
  values[0] = 0.5;  // too small for its row
  EXPECT_EQ(plan->Factor(work, DType::kDouble, columns.data(), l.data()).code(),
            Code::kInvalidArgument);
  work.cancel = true;
  EXPECT_EQ(plan->Factor(work, DType::kDouble, columns.data(), l.data()).code(), Code::kCancelled);
}

}  // namespace
}  // namespace thalweg::compute
