// SPDX-License-Identifier: Apache-2.0
// Decompositions of matrices at the edges: none or one element, zeros, no numbers, bases of the
// whole space; and what they promise of any matrix.
#include "thalweg/compute/linalg/linalg.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>

#include "thalweg/compute/linalg/banded.h"
#include "thalweg/compute/linalg/ordering.h"
#include "thalweg/compute/test_work.h"

namespace thalweg::compute {
namespace {

template <class T>
class LinalgTest : public ::testing::Test {
 protected:
  using Real = decltype(std::abs(T()));
  static constexpr Real kEps = std::numeric_limits<Real>::epsilon();

  static std::vector<T> Numbers(int64_t n) {
    const std::vector<Real> parts = RandomValues<Real>(2 * n);
    std::vector<T> numbers;
    for (int64_t i = 0; i < n; ++i) {
      if constexpr (std::is_same_v<T, Real>) {
        numbers.push_back(parts[2 * i]);
      } else {
        numbers.emplace_back(parts[2 * i], parts[2 * i + 1]);
      }
    }
    return numbers;
  }
  static T Conjugate(T x) {
    if constexpr (std::is_same_v<T, Real>) {
      return x;
    } else {
      return std::conj(x);
    }
  }
  // The greatest element of |x^H x - 1|, x of m rows and n columns.
  static Real FromUnitary(int64_t m, int64_t n, const std::vector<T>& x) {
    Real worst = 0;
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        T sum(i == j ? -1 : 0);
        for (int64_t k = 0; k < m; ++k) sum += Conjugate(x[k * n + i]) * x[k * n + j];
        worst = std::max(worst, std::abs(sum));
      }
    }
    return worst;
  }

  // a = u s v^H to rounding, u and v unitary, s falling, for matrices of this size.
  void ExpectSingular(int64_t m, int64_t n, bool full, const std::vector<T>& a) {
    const int64_t small = std::min(m, n), p = full ? m : small, q = full ? n : small;
    std::vector<T> s(small), u(m * p), v(n * q), alone(small);
    ASSERT_EQ(kernels_.svd(m, n, a.data(), full, s.data(), u.data(), v.data()), LinalgResult::kOk);
    ASSERT_EQ(kernels_.svd(m, n, a.data(), full, alone.data(), nullptr, nullptr),
              LinalgResult::kOk);
    const Real bound = 20 * kEps * static_cast<Real>(m + n);
    EXPECT_LE(FromUnitary(m, p, u), bound);
    EXPECT_LE(FromUnitary(n, q, v), bound);
    const Real largest = std::max(std::abs(s[0]), std::numeric_limits<Real>::min());
    for (int64_t i = 0; i < small; ++i) {
      EXPECT_LE(std::abs(s[i] - alone[i]), bound * largest);
      EXPECT_GE(std::real(s[i]), 0);
      EXPECT_LE(std::real(s[i]), std::real(s[std::max<int64_t>(i, 1) - 1]));
    }
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        T sum = -a[i * n + j];
        for (int64_t k = 0; k < small; ++k) {
          sum += u[i * p + k] * s[k] * Conjugate(v[j * q + k]);
        }
        ASSERT_LE(std::abs(sum), bound * largest) << m << " x " << n << " at " << i << ", " << j;
      }
    }
  }

  const LinalgKernels& kernels_ = *LinalgKernelsOf(kDTypeOf<T>);
};

using LinalgTypes = ::testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(LinalgTest, LinalgTypes);

// Sizes on both sides of where the method changes.
TYPED_TEST(LinalgTest, SingularValuesOfEveryShape) {
  const std::pair<int64_t, int64_t> shapes[] = {{1, 1},   {1, 5},  {5, 1},  {4, 4},   {15, 15},
                                                {16, 16}, {17, 3}, {3, 17}, {16, 40}, {40, 16},
                                                {33, 33}, {1, 20}, {20, 1}};
  for (const auto& [m, n] : shapes) {
    for (const bool full : {false, true}) this->ExpectSingular(m, n, full, this->Numbers(m * n));
  }
}

// Matrices of rank one, of zeros, with equal values, of numbers whose squares are zero.
TYPED_TEST(LinalgTest, SingularValuesOfHardMatrices) {
  for (const int64_t n : {3, 24}) {
    std::vector<TypeParam> zero(n * n), ones(n * n, TypeParam(1)), identity(n * n);
    std::vector<TypeParam> huge = this->Numbers(n * n), tiny = huge;
    for (int64_t i = 0; i < n; ++i) identity[i * n + i] = TypeParam(1);
    using Real = decltype(std::abs(TypeParam()));
    for (TypeParam& x : huge) x *= std::numeric_limits<Real>::max() / Real(100 * n);
    for (TypeParam& x : tiny) x *= std::numeric_limits<Real>::min() * Real(1000);
    for (const auto& a : {zero, ones, identity, huge}) this->ExpectSingular(n, n, true, a);
    std::vector<TypeParam> s(n);
    EXPECT_EQ(this->kernels_.svd(n, n, tiny.data(), false, s.data(), nullptr, nullptr),
              LinalgResult::kOk);
    EXPECT_GT(std::real(s[0]), 0);
  }
}

TYPED_TEST(LinalgTest, NoNumberGivesNoNumbersOrFails) {
  std::vector<TypeParam> a(20 * 20, TypeParam(1)), s(20), out(20 * 20);
  a[7] = TypeParam(NAN);
  EXPECT_EQ(this->kernels_.svd(20, 20, a.data(), false, s.data(), nullptr, nullptr),
            LinalgResult::kOk);
  for (const TypeParam x : s) EXPECT_TRUE(std::isnan(std::real(x)));
  EXPECT_EQ(this->kernels_.square_root(20, a.data(), out.data()), LinalgResult::kOk);
  EXPECT_TRUE(std::isnan(std::real(out[0])));
  std::vector<std::complex<decltype(std::abs(TypeParam()))>> values(20);
  EXPECT_EQ(this->kernels_.eigen(20, a.data(), values.data(), nullptr), LinalgResult::kFailed);
}

TYPED_TEST(LinalgTest, EmptyMatrices) {
  TypeParam one(0);
  EXPECT_EQ(this->kernels_.determinant(0, nullptr, &one), LinalgResult::kOk);
  EXPECT_EQ(one, TypeParam(1));
  std::vector<TypeParam> v(4);
  EXPECT_EQ(this->kernels_.svd(0, 2, nullptr, true, nullptr, &one, v.data()), LinalgResult::kOk);
  EXPECT_EQ(v, (std::vector<TypeParam>{1, 0, 0, 1}));
  EXPECT_EQ(this->kernels_.cholesky(0, nullptr, nullptr), LinalgResult::kOk);
  EXPECT_EQ(this->kernels_.eigen(0, nullptr, nullptr, nullptr), LinalgResult::kOk);
}

TYPED_TEST(LinalgTest, ZeroPivotsAreRefused) {
  const std::vector<TypeParam> a{1, 2, 2, 4}, zero(4);
  std::vector<TypeParam> out(4);
  EXPECT_EQ(this->kernels_.inverse(2, a.data(), false, out.data()), LinalgResult::kFailed);
  EXPECT_EQ(this->kernels_.cholesky(2, zero.data(), out.data()), LinalgResult::kFailed);
}

// The root times itself, and the logarithm of the exponential, of a matrix that is far from
// diagonal.
TYPED_TEST(LinalgTest, FunctionsOfAJordanBlock) {
  const std::vector<TypeParam> a{4, 1, 0, 0, 4, 1, 0, 0, 4};
  std::vector<TypeParam> root(9), logarithm(9), back(9);
  ASSERT_EQ(this->kernels_.square_root(3, a.data(), root.data()), LinalgResult::kOk);
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      TypeParam sum = -a[3 * i + j];
      for (int k = 0; k < 3; ++k) sum += root[3 * i + k] * root[3 * k + j];
      EXPECT_LE(std::abs(sum), 40 * this->kEps);
    }
  }
  const auto result = this->kernels_.logarithm(3, a.data(), logarithm.data());
  if constexpr (std::is_floating_point_v<TypeParam>) {
    EXPECT_EQ(result, LinalgResult::kFailed);
  } else {
    ASSERT_EQ(result, LinalgResult::kOk);
    ASSERT_EQ(this->kernels_.exponential(3, logarithm.data(), back.data()), LinalgResult::kOk);
    for (int i = 0; i < 9; ++i) EXPECT_LE(std::abs(back[i] - a[i]), 100 * this->kEps);
  }
}

TEST(LinalgTypesTest, OthersHaveNoKernels) {
  EXPECT_EQ(LinalgKernelsOf(DType::kHalf), nullptr);
  EXPECT_EQ(LinalgKernelsOf(DType::kInt32), nullptr);
  EXPECT_EQ(BandedKernelsOf(DType::kBfloat16), nullptr);
}

// Without pivoting the first pivot would be 1e-20.
TEST(TridiagonalTest, PivotingAvoidsCancellation) {
  const double super[2] = {1, 0}, main[2] = {1e-20, 1}, sub[2] = {0, 1}, rhs[2] = {1, 2};
  double scratch[6], x[2];
  BandedKernelsOf(DType::kDouble)->tridiagonal_solve(2, 1, super, main, sub, rhs, {}, scratch, x);
  EXPECT_DOUBLE_EQ(x[0], 1);
  EXPECT_DOUBLE_EQ(x[1], 1);
}

TEST(OrderingTest, TheHubOfAStarComesLast) {
  const int32_t starts[] = {0, 1, 3, 5, 7, 9}, columns[] = {0, 0, 1, 0, 2, 0, 3, 0, 4};
  int32_t order[5];
  ASSERT_EQ(MinimumDegreeOrder(5, starts, columns, order), LinalgResult::kOk);
  EXPECT_TRUE(order[4] == 0 || order[3] == 0);  // the last two are equal
}

}  // namespace
}  // namespace thalweg::compute
