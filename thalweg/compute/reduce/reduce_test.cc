// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/reduce/reduce.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <vector>

#include "thalweg/compute/test_work.h"

namespace thalweg::compute {
namespace {

using Axes = std::vector<int64_t>;

// Straight from the definition, in double; `count` of elements per output.
std::vector<double> Reference(ReduceOp op, const std::vector<double>& x, const Axes& dims,
                              const Axes& axes) {
  std::vector<bool> gone(dims.size());
  for (int64_t a : axes)
    gone[static_cast<size_t>(a < 0 ? a + static_cast<int64_t>(dims.size()) : a)] = true;
  int64_t outputs = 1, count = 1;
  for (size_t d = 0; d < dims.size(); ++d) (gone[d] ? count : outputs) *= dims[d];
  const double start = op == ReduceOp::kProd  ? 1
                       : op == ReduceOp::kMax ? -INFINITY
                       : op == ReduceOp::kMin ? INFINITY
                                              : 0;
  std::vector<double> y(static_cast<size_t>(outputs), start);
  for (size_t i = 0; i < x.size(); ++i) {
    size_t rest = i, out = 0, step = 1;
    for (size_t d = dims.size(); d-- > 0;) {
      const size_t place = rest % static_cast<size_t>(dims[d]);
      rest /= static_cast<size_t>(dims[d]);
      if (gone[d]) continue;
      out += place * step;
      step *= static_cast<size_t>(dims[d]);
    }
    if (op == ReduceOp::kMax) y[out] = std::max(y[out], x[i]);
    if (op == ReduceOp::kMin) y[out] = std::min(y[out], x[i]);
    if (op == ReduceOp::kProd) y[out] *= x[i];
    if (op == ReduceOp::kSum || op == ReduceOp::kMean) y[out] += x[i];
    if (op == ReduceOp::kSumSquares) y[out] += x[i] * x[i];
  }
  if (op == ReduceOp::kMean) {
    for (double& v : y) v /= static_cast<double>(count);
  }
  return y;
}

struct Case {
  Axes dims, axes;
};
const std::vector<Case>& Cases() {
  static const std::vector<Case> cases = {
      {{}, {}},
      {{7}, {0}},
      {{7}, {}},
      {{5, 3}, {0}},
      {{5, 3}, {1}},
      {{5, 3}, {0, 1}},
      {{4, 5, 6}, {1}},
      {{4, 5, 6}, {0, 2}},
      {{4, 5, 6}, {-1}},
      {{2, 3, 4, 5}, {0, 2}},
      {{2, 3, 4, 5}, {1, 3}},
      {{1, 9, 1}, {0}},
      {{300, 7}, {0}},
      {{2000, 64}, {0}},
      {{3, 5000}, {1}},
      {{1, 600000}, {1}},
      {{2, 3, 2, 3, 2}, {0, 2, 4}},
      {{3000, 300}, {0}},
      {{100, 1}, {0}},
  };
  return cases;
}

template <class T>
void Check(IsaLevel level, ReduceOp op, const Case& c, double low, double high, double relative) {
  int64_t n = 1;
  for (int64_t d : c.dims) n *= d;
  const auto x = RandomValues<T>(n, low, high);
  std::vector<double> wide;
  for (T v : x) wide.push_back(ToDouble(v));
  const auto expected = Reference(op, wide, c.dims, c.axes);
  const auto reduction = Reduction::Make(c.dims, c.axes);
  ASSERT_TRUE(reduction.ok());
  ASSERT_EQ(reduction->output_elements(), static_cast<int64_t>(expected.size()));
  std::vector<T> y(expected.size());
  TestWork work(level, 2);
  ASSERT_TRUE(Reduce(work, op, kDTypeOf<T>, *reduction, x.data(), y.data()).ok());
  for (size_t i = 0; i < y.size(); ++i) {
    ASSERT_NEAR(ToDouble(y[i]), expected[i], relative * (std::abs(expected[i]) + 1))
        << IsaLevelName(level) << " op " << static_cast<int>(op) << " rank " << c.dims.size()
        << " of " << n;
  }
}

bool IsLarge(const Case& c) {
  int64_t n = 1;
  for (int64_t d : c.dims) n *= d;
  return n > 20000;
}

TEST(ReduceTest, AgreesWithTheDefinition) {
  for (IsaLevel level : TestLevels()) {
    for (const Case& c : Cases()) {
      for (ReduceOp op : {ReduceOp::kSum, ReduceOp::kMean, ReduceOp::kMax, ReduceOp::kMin,
                          ReduceOp::kSumSquares}) {
        if (IsLarge(c) && op != ReduceOp::kSum) continue;
        Check<float>(level, op, c, 0, 2, 3e-7);
        Check<double>(level, op, c, -1, 1, 1e-12);
      }
      if (IsLarge(c)) continue;
      Check<double>(level, ReduceOp::kProd, c, 0.999, 1.001, 1e-10);
      for (ReduceOp op : {ReduceOp::kSum, ReduceOp::kMax, ReduceOp::kMin, ReduceOp::kSumSquares}) {
        Check<int32_t>(level, op, c, -30, 30, 0);
        Check<int64_t>(level, op, c, -1000, 1000, 0);
        Check<uint32_t>(level, op, c, 0, 50, 0);
        Check<uint64_t>(level, op, c, 0, 1000, 0);
      }
      Check<int16_t>(level, ReduceOp::kMax, c, -30000, 30000, 0);
      Check<Half>(level, ReduceOp::kMean, c, 0, 2, 1e-3);
      Check<Bfloat16>(level, ReduceOp::kMax, c, 0, 2, 0);
    }
  }
}

TEST(ReduceTest, SameBitsAtEveryLevelAndThreadCount) {
  for (const Case& c : Cases()) {
    int64_t n = 1;
    for (int64_t d : c.dims) n *= d;
    const auto x = RandomValues(n);
    const auto reduction = Reduction::Make(c.dims, c.axes);
    std::vector<std::vector<float>> results;
    for (IsaLevel level : TestLevels()) {
      for (int threads : {1, 3}) {
        TestWork work(level, threads);
        std::vector<float> y(static_cast<size_t>(reduction->output_elements()));
        ASSERT_TRUE(
            Reduce(work, ReduceOp::kSum, DType::kFloat, *reduction, x.data(), y.data()).ok());
        results.push_back(y);
      }
    }
    for (const auto& result : results) EXPECT_EQ(result, results[0]);
  }
}

template <class T>
std::vector<T> Reduced(IsaLevel level, int threads, ReduceOp op, const Case& c,
                       const std::vector<T>& x) {
  const Reduction reduction = *Reduction::Make(c.dims, c.axes);
  std::vector<T> y(static_cast<size_t>(reduction.output_elements()));
  TestWork work(level, threads);
  EXPECT_TRUE(Reduce(work, op, kDTypeOf<T>, reduction, x.data(), y.data()).ok());
  return y;
}

template <class T>
void CheckBitsOfFloat(IsaLevel level, ReduceOp op, const Case& c) {
  int64_t n = 1;
  for (int64_t d : c.dims) n *= d;
  auto x = RandomValues<T>(n, -1, 1);
  for (size_t i = 3; i < x.size(); i += 1001) x[i] = T(i % 4 == 0 ? NAN : INFINITY);
  const auto y = Reduced(level, 1, op, c, x), again = Reduced(level, 3, op, c, x);
  const auto wide = Reduced(level, 1, op, c, Widened(x));
  for (size_t i = 0; i < y.size(); ++i) {
    ASSERT_EQ(y[i].bits, again[i].bits) << static_cast<int>(op) << " of " << n << " at " << i;
    ASSERT_EQ(y[i].bits, T(wide[i]).bits) << static_cast<int>(op) << " of " << n << " at " << i;
  }
}

TEST(ReduceTest, SixteenBitsAreRoundedFloats) {
  for (IsaLevel level : TestLevels()) {
    for (const Case& c : Cases()) {
      for (ReduceOp op : {ReduceOp::kSum, ReduceOp::kMean, ReduceOp::kMax, ReduceOp::kSumSquares}) {
        if (IsLarge(c) && op != ReduceOp::kSum) continue;
        CheckBitsOfFloat<Half>(level, op, c);
        CheckBitsOfFloat<Bfloat16>(level, op, c);
      }
    }
  }
}

TEST(ReduceTest, LongFloatSumsStayAccurate) {
  const std::vector<float> x(5000000, 0.1f);
  const Axes dims = {5000000, 1}, axes = {0};
  float y;
  TestWork work;
  ASSERT_TRUE(
      Reduce(work, ReduceOp::kSum, DType::kFloat, *Reduction::Make(dims, axes), x.data(), &y).ok());
  EXPECT_NEAR(y, 5000000 * static_cast<double>(0.1f), 4);
}

TEST(ReduceTest, OverNothing) {
  const Axes dims = {0, 2}, axes = {0};
  const Reduction r = *Reduction::Make(dims, axes);
  TestWork work;
  float y[2];
  const auto run = [&](ReduceOp op) {
    EXPECT_TRUE(Reduce(work, op, DType::kFloat, r, nullptr, y).ok());
    return y[1];
  };
  EXPECT_EQ(run(ReduceOp::kSum), 0);
  EXPECT_EQ(run(ReduceOp::kProd), 1);
  EXPECT_EQ(run(ReduceOp::kMax), -INFINITY);
  EXPECT_EQ(run(ReduceOp::kMin), INFINITY);
  EXPECT_TRUE(std::isnan(run(ReduceOp::kMean)));
  bool logic[2];
  ASSERT_TRUE(Reduce(work, ReduceOp::kAll, DType::kBool, r, nullptr, logic).ok());
  EXPECT_TRUE(logic[0] && logic[1]);
}

// The ends of the type itself, whatever type it is computed in.
TEST(ReduceTest, ExtremesOfNoIntegersAreTheEndsOfTheirType) {
  const Axes axes = {0};
  TestWork work;
  ForEachType<IntegerTypes>([&]<class T>() {
    for (const Axes& dims : {Axes{0}, Axes{0, 3}}) {
      const Reduction r = *Reduction::Make(dims, axes);
      T y[3] = {1, 1, 1};
      const auto run = [&](ReduceOp op) {
        EXPECT_TRUE(Reduce(work, op, kDTypeOf<T>, r, nullptr, y).ok()) << DTypeName(kDTypeOf<T>);
        return y[r.output_elements() - 1];
      };
      EXPECT_EQ(run(ReduceOp::kMax), std::numeric_limits<T>::lowest()) << DTypeName(kDTypeOf<T>);
      EXPECT_EQ(run(ReduceOp::kMin), std::numeric_limits<T>::max()) << DTypeName(kDTypeOf<T>);
      EXPECT_EQ(run(ReduceOp::kSum), T(0)) << DTypeName(kDTypeOf<T>);
      EXPECT_EQ(run(ReduceOp::kProd), T(1)) << DTypeName(kDTypeOf<T>);
      EXPECT_EQ(run(ReduceOp::kMean), T(0)) << DTypeName(kDTypeOf<T>);
    }
  });
  ForEachType<FloatTypes>([&]<class T>() {
    const Reduction r = *Reduction::Make(Axes{0}, axes);
    T y{};
    ASSERT_TRUE(Reduce(work, ReduceOp::kMax, kDTypeOf<T>, r, nullptr, &y).ok());
    EXPECT_EQ(ToDouble(y), -INFINITY) << DTypeName(kDTypeOf<T>);
    ASSERT_TRUE(Reduce(work, ReduceOp::kMin, kDTypeOf<T>, r, nullptr, &y).ok());
    EXPECT_EQ(ToDouble(y), INFINITY) << DTypeName(kDTypeOf<T>);
  });
  std::complex<float> mean = 1;
  const Reduction none = *Reduction::Make(Axes{0}, axes);
  ASSERT_TRUE(Reduce(work, ReduceOp::kMean, DType::kComplex64, none, nullptr, &mean).ok());
  EXPECT_EQ(mean, std::complex<float>(0));
}

TEST(ReduceTest, LogicAndComplex) {
  const Axes dims = {2, 3}, axes = {1};
  const Reduction r = *Reduction::Make(dims, axes);
  TestWork work;
  const bool x[6] = {true, true, true, false, true, false};
  bool y[2];
  ASSERT_TRUE(Reduce(work, ReduceOp::kAll, DType::kBool, r, x, y).ok());
  EXPECT_TRUE(y[0] && !y[1]);
  ASSERT_TRUE(Reduce(work, ReduceOp::kAny, DType::kBool, r, x, y).ok());
  EXPECT_TRUE(y[0] && y[1]);
  using C = std::complex<float>;
  const C z[6] = {{1, 1}, {2, 0}, {0, 3}, {1, 0}, {1, 0}, {1, 1}};
  C w[2];
  ASSERT_TRUE(Reduce(work, ReduceOp::kMean, DType::kComplex64, r, z, w).ok());
  EXPECT_NEAR(std::abs(w[0] - C(1, 4.0f / 3)), 0, 1e-6);
  EXPECT_EQ(Reduce(work, ReduceOp::kMax, DType::kComplex64, r, z, w).code(), Code::kUnimplemented);
}

TEST(ReduceTest, NanWinsExtremes) {
  for (IsaLevel level : TestLevels()) {
    for (int place : {0, 3, 40, 99}) {
      std::vector<float> x(100, 1);
      x[static_cast<size_t>(place)] = NAN;
      const Axes dims = {100}, axes = {0};
      float y;
      TestWork work(level);
      for (ReduceOp op : {ReduceOp::kMax, ReduceOp::kMin}) {
        ASSERT_TRUE(
            Reduce(work, op, DType::kFloat, *Reduction::Make(dims, axes), x.data(), &y).ok());
        EXPECT_TRUE(std::isnan(y)) << place;
      }
    }
  }
}

TEST(ReduceTest, BadAxesAreErrors) {
  const Axes dims = {2, 3}, axes = {2}, low = {-3};
  EXPECT_EQ(Reduction::Make(dims, axes).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(Reduction::Make(dims, low).status().code(), Code::kInvalidArgument);
  const Axes ok = {-1, 1};
  EXPECT_EQ(Reduction::Make(dims, ok)->OutputDims(true)[1], 1);
  EXPECT_EQ(Reduction::Make(dims, ok)->OutputDims(false).size(), 1);
}

TEST(ArgTest, FirstOfEquals) {
  const std::vector<int32_t> x = {1, 5, 5, 2, 9, 9, 0, 0, 0, 7, 0, 7};  // [2, 3, 2]
  std::vector<int64_t> y(4);
  TestWork work;
  ASSERT_TRUE(
      Arg(work, ArgOp::kMax, DType::kInt32, 2, 3, 2, x.data(), DType::kInt64, y.data()).ok());
  EXPECT_EQ(y, (std::vector<int64_t>{2, 2, 0, 1}));
  std::vector<int32_t> z(4);
  ASSERT_TRUE(
      Arg(work, ArgOp::kMin, DType::kInt32, 2, 3, 2, x.data(), DType::kInt32, z.data()).ok());
  EXPECT_EQ(z, (std::vector<int32_t>{0, 1, 0, 0}));
}

TEST(ArgTest, WideRowsAndHalves) {
  const auto x = RandomValues<Half>(50 * 130);
  std::vector<int64_t> y(130);
  TestWork work;
  ASSERT_TRUE(
      Arg(work, ArgOp::kMax, DType::kHalf, 1, 50, 130, x.data(), DType::kInt64, y.data()).ok());
  for (int c = 0; c < 130; ++c) {
    for (int r = 0; r < 50; ++r) EXPECT_LE(ToDouble(x[r * 130 + c]), ToDouble(x[y[c] * 130 + c]));
  }
  EXPECT_EQ(Arg(work, ArgOp::kMax, DType::kString, 1, 1, 1, nullptr, DType::kInt64, nullptr).code(),
            Code::kUnimplemented);
}

}  // namespace
}  // namespace thalweg::compute
