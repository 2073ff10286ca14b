// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/ew/ew.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <complex>
#include <cstring>
#include <functional>
#include <limits>
#include <vector>

#include "thalweg/base/floating_point.h"
#include "thalweg/compute/test_work.h"

namespace thalweg::compute {
namespace {

constexpr float kFloatInf = std::numeric_limits<float>::infinity();
const float kNan = std::nanf("");

struct UnaryCase {
  UnaryOp op;
  double low, high;
  double ulp;  // of float
  std::function<double(double)> f;
};

double Elu(double x) { return x < 0 ? std::expm1(x) : x; }
double Softplus(double x) { return x > 30 ? x : std::log1p(std::exp(x)); }
double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

const std::vector<UnaryCase>& UnaryCases() {
  using U = UnaryOp;
  static const std::vector<UnaryCase> cases = {
      {U::kAbs, -9, 9, 0, [](double x) { return std::abs(x); }},
      {U::kAcos, -1, 1, 1.1, [](double x) { return std::acos(x); }},
      {U::kAcosh, 1, 50, 3, [](double x) { return std::acosh(x); }},
      {U::kAsin, -1, 1, 1.1, [](double x) { return std::asin(x); }},
      {U::kAsinh, -50, 50, 3, [](double x) { return std::asinh(x); }},
      {U::kAtan, -50, 50, 1.1, [](double x) { return std::atan(x); }},
      {U::kAtanh, -0.99, 0.99, 3, [](double x) { return std::atanh(x); }},
      {U::kCeil, -9, 9, 0, [](double x) { return std::ceil(x); }},
      {U::kCos, -1000, 1000, 1.1, [](double x) { return std::cos(x); }},
      {U::kCosh, -80, 80, 2, [](double x) { return std::cosh(x); }},
      {U::kElu, -20, 20, 3, Elu},
      {U::kErf, -5, 5, 6, [](double x) { return std::erf(x); }},
      {U::kErfc, -3, 3, 4, [](double x) { return std::erfc(x); }},
      {U::kExp, -87, 88, 1.5, [](double x) { return std::exp(x); }},
      {U::kExpm1, -20, 80, 3.5, [](double x) { return std::expm1(x); }},
      {U::kFloor, -9, 9, 0, [](double x) { return std::floor(x); }},
      {U::kIdentity, -9, 9, 0, [](double x) { return x; }},
      {U::kLgamma, 0.1, 30, 200, [](double x) { return std::lgamma(x); }},
      {U::kLog, 1e-30, 1e30, 1.5, [](double x) { return std::log(x); }},
      {U::kLog, 0.5, 2, 1.5, [](double x) { return std::log(x); }},
      {U::kLog1p, -0.99, 5, 3.5, [](double x) { return std::log1p(x); }},
      {U::kLog1p, -1e-3, 1e-3, 3.5, [](double x) { return std::log1p(x); }},
      {U::kNeg, -9, 9, 0, [](double x) { return -x; }},
      {U::kReciprocal, 0.1, 9, 0.6, [](double x) { return 1 / x; }},
      {U::kRelu, -9, 9, 0, [](double x) { return x < 0 ? 0 : x; }},
      {U::kRelu6, -9, 9, 0, [](double x) { return x < 0   ? 0
                                                  : x > 6 ? 6
                                                          : x; }},
      {U::kRound, -9, 9, 0, [](double x) { return std::nearbyint(x); }},
      {U::kRsqrt, 0.1, 900, 1.6, [](double x) { return 1 / std::sqrt(x); }},
      {U::kSelu, -9, 9, 4,
       [](double x) {
         return (x < 0 ? 1.6732632423543772 * std::expm1(x) : x) * 1.0507009873554805;
       }},
      {U::kSigmoid, -80, 80, 4, Sigmoid},
      {U::kSign, -9, 9, 0, [](double x) { return x > 0   ? 1.0
                                                 : x < 0 ? -1.0
                                                         : 0.0; }},
      {U::kSin, -1000, 1000, 1.1, [](double x) { return std::sin(x); }},
      {U::kSinh, -80, 80, 2, [](double x) { return std::sinh(x); }},
      {U::kSoftplus, -30, 30, 8, Softplus},
      {U::kSoftsign, -9, 9, 1.6, [](double x) { return x / (1 + std::abs(x)); }},
      {U::kSqrt, 0, 900, 0.51, [](double x) { return std::sqrt(x); }},
      {U::kSquare, -9, 9, 0.51, [](double x) { return x * x; }},
      {U::kTan, -1, 1, 1.1, [](double x) { return std::tan(x); }},
      {U::kTanh, -12, 12, 5, [](double x) { return std::tanh(x); }},
      {U::kTanh, -0.01, 0.01, 5, [](double x) { return std::tanh(x); }},
  };
  return cases;
}

double Ulp(double value) {
  const float v = std::abs(static_cast<float>(value));
  return std::max<double>(std::nextafter(v, kFloatInf) - v, 1.4e-45);
}

TEST(UnaryTest, FloatWithinItsUlpsAtEveryLevel) {
  for (IsaLevel level : TestLevels()) {
    TestWork work(level, 2);
    for (const UnaryCase& c : UnaryCases()) {
      const auto x = RandomValues(40011, c.low, c.high);
      std::vector<float> y(x.size());
      ASSERT_TRUE(RunUnary(work, c.op, DType::kFloat, 40011, x.data(), y.data()).ok());
      // Without fused multiply-adds a little more.
      const double allowed = c.ulp * (level == IsaLevel::kSse4 ? 1.4 : 1);
      for (size_t i = 0; i < x.size(); ++i) {
        const double expected = c.f(x[i]);
        ASSERT_LE(std::abs(y[i] - expected), allowed * Ulp(expected))
            << IsaLevelName(level) << " " << UnaryOpName(c.op) << "(" << x[i] << ") = " << y[i]
            << ", expected " << expected;
      }
    }
  }
}

TEST(UnaryTest, DoubleHalfAndBfloat16) {
  TestWork work;
  for (const UnaryCase& c : UnaryCases()) {
    const auto x = RandomValues<double>(301, c.low, c.high);
    std::vector<double> y(301);
    ASSERT_TRUE(RunUnary(work, c.op, DType::kDouble, 301, x.data(), y.data()).ok());
    for (int i = 0; i < 301; ++i)
      ASSERT_NEAR(y[i], c.f(x[i]), 1e-13 * std::abs(c.f(x[i])) + 1e-14) << UnaryOpName(c.op);
    if (c.high > 60000) continue;
    std::vector<Half> h;
    for (double v : x) h.push_back(FromDouble<Half>(v));
    std::vector<Half> out(301);
    ASSERT_TRUE(RunUnary(work, c.op, DType::kHalf, 301, h.data(), out.data()).ok());
    for (int i = 0; i < 301; ++i) {
      const double expected = c.f(ToDouble(h[i]));
      if (std::abs(expected) > 60000 || !std::isfinite(expected)) continue;
      ASSERT_NEAR(ToDouble(out[i]), expected, 1e-3 * std::abs(expected) + 1e-4)
          << UnaryOpName(c.op) << ToDouble(h[i]);
    }
  }
}

std::vector<float> Apply(UnaryOp op, std::vector<float> x, IsaLevel level) {
  TestWork work(level);
  EXPECT_TRUE(
      RunUnary(work, op, DType::kFloat, static_cast<int64_t>(x.size()), x.data(), x.data()).ok());
  return x;
}

void ExpectSame(const std::vector<float>& actual, const std::vector<float>& expected,
                const char* what) {
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_TRUE(actual[i] == expected[i] || (std::isnan(actual[i]) && std::isnan(expected[i])))
        << what << " at " << i << ": " << actual[i] << ", expected " << expected[i];
  }
}

TEST(UnaryTest, SpecialValuesAtEveryLevel) {
  for (IsaLevel level : TestLevels()) {
    const std::vector<float> x = {kNan, kFloatInf, -kFloatInf, 0, -0.0f, 1e-40f, 200, -200};
    ExpectSame(Apply(UnaryOp::kExp, x, level), {kNan, kFloatInf, 0, 1, 1, 1, kFloatInf, 0}, "exp");
    ExpectSame(Apply(UnaryOp::kExpm1, x, level), {kNan, kFloatInf, -1, 0, 0, 1e-40f, kFloatInf, -1},
               "expm1");
    ExpectSame(
        Apply(UnaryOp::kLog, x, level),
        {kNan, kFloatInf, kNan, -kFloatInf, -kFloatInf, std::log(1e-40f), std::log(200.0f), kNan},
        "log");
    ExpectSame(Apply(UnaryOp::kLog1p, x, level),
               {kNan, kFloatInf, kNan, 0, 0, 1e-40f, std::log1p(200.0f), kNan}, "log1p");
    ExpectSame(Apply(UnaryOp::kLog1p, {-1}, level), {-kFloatInf}, "log1p");
    ExpectSame(Apply(UnaryOp::kSigmoid, x, level), {kNan, 1, 0, 0.5f, 0.5f, 0.5f, 1, 0}, "sigmoid");
    ExpectSame(Apply(UnaryOp::kRelu, x, level), {kNan, kFloatInf, 0, 0, 0, 1e-40f, 200, 0}, "relu");
    ExpectSame(Apply(UnaryOp::kSign, x, level), {kNan, 1, -1, 0, 0, 1, 1, -1}, "sign");
    ExpectSame(Apply(UnaryOp::kSoftplus, {kNan, kFloatInf, -kFloatInf, 100, -100}, level),
               {kNan, kFloatInf, 0, 100, std::exp(-100.0f)}, "softplus");
    ExpectSame(Apply(UnaryOp::kRound, {0.5f, 1.5f, 2.5f, -0.5f, kNan}, level), {0, 2, 2, 0, kNan},
               "round");
    const auto tanh = Apply(UnaryOp::kTanh, x, level);
    EXPECT_TRUE(std::isnan(tanh[0]));
    EXPECT_NEAR(tanh[1], 1, 1e-6);
    EXPECT_NEAR(tanh[2], -1, 1e-6);
  }
}

// What a kernel takes for zero has no sign and is cut off.
TEST(UnaryTest, SignsOfDenormals) {
  const FloatingPointScope as_kernels_run;
  for (IsaLevel level : TestLevels()) {
    for (const UnaryOp op : {UnaryOp::kSign, UnaryOp::kRelu}) {
      for (const float y : Apply(op, std::vector<float>(20, 1e-40f), level)) {
        EXPECT_EQ(std::bit_cast<uint32_t>(y), 0u);
      }
      for (const float y : Apply(op, std::vector<float>(20, -1e-40f), level)) {
        EXPECT_EQ(std::bit_cast<uint32_t>(y), 0u);
      }
    }
  }
}

// As TensorFlow 2.21 has it: a sign is taken away bit by bit, a power of one gives its base.
TEST(UnaryTest, MagnitudesOfDenormals) {
  const FloatingPointScope as_kernels_run;
  for (IsaLevel level : TestLevels()) {
    for (const float sign : {1.0f, -1.0f}) {
      for (const float y :
           Apply(UnaryOp::kAbs,
                 std::vector<float>(
                     20, std::bit_cast<float>((sign < 0 ? 0x80000000u : 0u) | 0x000116c2u)),
                 level)) {
        EXPECT_EQ(std::bit_cast<uint32_t>(y), 0x000116c2u);
      }
      const uint32_t zero = sign < 0 ? 0x80000000u : 0u;
      for (const float y :
           Apply(UnaryOp::kTanh, std::vector<float>(20, std::bit_cast<float>(zero | 0x000116c2u)),
                 level)) {
        EXPECT_EQ(std::bit_cast<uint32_t>(y), zero);
      }
    }
  }
}

TEST(BinaryTest, PowersOfDenormals) {
  const FloatingPointScope as_kernels_run;
  const float tiny = std::bit_cast<float>(0x000116c2u), below = std::bit_cast<float>(0x800116c2u);
  const std::vector<float> x = {tiny, below, tiny, below, tiny, below, 0.5f, tiny, 1e-20f, 0.0f};
  const std::vector<float> y = {0.5f, 0.5f, 1, 1, -1, -1, tiny, tiny, 2, below};
  const std::vector<uint32_t> wanted = {0,          0,          0x000116c2, 0x800116c2, 0x7f800000,
                                        0xff800000, 0x3f800000, 0x3f800000, 0,          0x3f800000};
  std::vector<float> got(x.size());
  TestWork work;
  ASSERT_TRUE(RunBinary(work, BinaryOp::kPow, DType::kFloat,
                        Broadcast::Dense(static_cast<int64_t>(x.size()), 2), x.data(), y.data(),
                        got.data())
                  .ok());
  for (size_t i = 0; i < x.size(); ++i) EXPECT_EQ(std::bit_cast<uint32_t>(got[i]), wanted[i]) << i;
}

// Kernels take denormals for zero, but the logarithm of what is not zero is a number.
TEST(UnaryTest, LogarithmsOfDenormals) {
  const FloatingPointScope as_kernels_run;
  const float ln2 = 0.693147180559945F;
  for (IsaLevel level : TestLevels()) {
    TestWork work(level);
    // 2^-149, 2^-140, the largest denormal, the smallest normal number; signs and zeros.
    const std::vector<uint32_t> bits = {1,          1 << 9,     0x007fffff, 0x00800000,
                                        0x80000001, 0x80000000, 0,          0xff800000};
    std::vector<float> x(bits.size()), y(bits.size());
    std::memcpy(x.data(), bits.data(), bits.size() * sizeof(float));
    ASSERT_TRUE(RunUnary(work, UnaryOp::kLog, DType::kFloat, static_cast<int64_t>(x.size()),
                         x.data(), y.data())
                    .ok());
    EXPECT_FLOAT_EQ(y[0], -149 * ln2);
    EXPECT_FLOAT_EQ(y[1], -140 * ln2);
    EXPECT_FLOAT_EQ(y[2], -126 * ln2);
    EXPECT_FLOAT_EQ(y[3], -126 * ln2);
    EXPECT_TRUE(std::isnan(y[4]));
    EXPECT_EQ(y[5], -INFINITY);
    EXPECT_EQ(y[6], -INFINITY);
    EXPECT_TRUE(std::isnan(y[7]));
    const uint64_t tiny[4] = {1, uint64_t{1} << 40, uint64_t{0x8000000000000001}, 0};
    double v[4], w[4];
    std::memcpy(v, tiny, sizeof v);
    ASSERT_TRUE(RunUnary(work, UnaryOp::kLog, DType::kDouble, 4, v, w).ok());
    EXPECT_DOUBLE_EQ(w[0], -1074 * 0.69314718055994530942);
    EXPECT_DOUBLE_EQ(w[1], -1034 * 0.69314718055994530942);
    EXPECT_TRUE(std::isnan(w[2]));
    EXPECT_EQ(w[3], -INFINITY);
    const float one[1] = {1};
    ASSERT_TRUE(RunBinary(work, BinaryOp::kXlogy, DType::kFloat, Broadcast::Dense(1, 2), one,
                          x.data(), y.data())
                    .ok());
    EXPECT_FLOAT_EQ(y[0], -149 * ln2);
    const std::complex<double> c[3] = {{v[1], v[1]}, {0, v[2]}, {0, 0}};
    std::complex<double> d[3];
    ASSERT_TRUE(RunUnary(work, UnaryOp::kLog, DType::kComplex128, 3, c, d).ok());
    EXPECT_DOUBLE_EQ(d[0].real(), -1033.5 * 0.69314718055994530942);
    EXPECT_DOUBLE_EQ(d[0].imag(), M_PI / 4);
    EXPECT_DOUBLE_EQ(d[1].real(), -1074 * 0.69314718055994530942);
    EXPECT_DOUBLE_EQ(d[1].imag(), -M_PI / 2);
    EXPECT_EQ(d[2].real(), -INFINITY);
  }
}

TEST(UnaryTest, Predicates) {
  const std::vector<double> x = {1, -0.0, INFINITY, -INFINITY, NAN};
  bool y[5];
  TestWork work;
  ASSERT_TRUE(RunUnary(work, UnaryOp::kIsNan, DType::kDouble, 5, x.data(), y).ok());
  EXPECT_EQ(std::vector<bool>(y, y + 5), (std::vector<bool>{false, false, false, false, true}));
  ASSERT_TRUE(RunUnary(work, UnaryOp::kIsInf, DType::kDouble, 5, x.data(), y).ok());
  EXPECT_EQ(std::vector<bool>(y, y + 5), (std::vector<bool>{false, false, true, true, false}));
  ASSERT_TRUE(RunUnary(work, UnaryOp::kIsFinite, DType::kDouble, 5, x.data(), y).ok());
  EXPECT_EQ(std::vector<bool>(y, y + 5), (std::vector<bool>{true, true, false, false, false}));
  EXPECT_EQ(UnaryResult(UnaryOp::kIsNan, DType::kHalf), DType::kBool);
}

TEST(UnaryTest, NarrowIntegersWrap) {
  const std::vector<int8_t> x = {-128, 127, 5, -1};
  std::vector<int8_t> y(4);
  TestWork work;
  ASSERT_TRUE(RunUnary(work, UnaryOp::kAbs, DType::kInt8, 4, x.data(), y.data()).ok());
  EXPECT_EQ(y, (std::vector<int8_t>{-128, 127, 5, 1}));
  ASSERT_TRUE(RunUnary(work, UnaryOp::kSquare, DType::kInt8, 4, x.data(), y.data()).ok());
  EXPECT_EQ(y, (std::vector<int8_t>{0, 1, 25, 1}));
}

TEST(UnaryTest, ComplexFunctions) {
  using C = std::complex<double>;
  const C x[2] = {{0.3, -0.7}, {-1.2, 0.1}};
  C y[2];
  TestWork work;
  ASSERT_TRUE(RunUnary(work, UnaryOp::kTanh, DType::kComplex128, 2, x, y).ok());
  EXPECT_NEAR(std::abs(y[1] - std::tanh(x[1])), 0, 1e-15);
}

TEST(UnaryTest, SameBitsAtBothFmaLevels) {
  if (BestIsaLevel() < IsaLevel::kAvx512) GTEST_SKIP() << "this CPU has one FMA level only";
  for (const UnaryCase& c : UnaryCases()) {
    const auto x = RandomValues(1003, c.low, c.high);
    EXPECT_EQ(Apply(c.op, x, IsaLevel::kAvx2), Apply(c.op, x, IsaLevel::kAvx512))
        << UnaryOpName(c.op);
  }
}

TEST(UnaryTest, AMissingEntryIsAnError) {
  TestWork work;
  EXPECT_FALSE(HasUnary(UnaryOp::kExp, DType::kInt32));
  EXPECT_TRUE(HasUnary(UnaryOp::kExp, DType::kBfloat16));
  const Status status = RunUnary(work, UnaryOp::kExp, DType::kString, 1, nullptr, nullptr);
  EXPECT_EQ(status.code(), Code::kUnimplemented);
  EXPECT_NE(status.message().find("Exp"), std::string_view::npos);
}

template <class T>
std::vector<T> Compute(BinaryOp op, std::vector<T> a, std::vector<T> b, Code code = Code::kOk) {
  TestWork work;
  std::vector<T> c(a.size());
  const Broadcast dense = Broadcast::Dense(static_cast<int64_t>(a.size()), 2);
  EXPECT_EQ(RunBinary(work, op, kDTypeOf<T>, dense, a.data(), b.data(), c.data()).code(), code);
  return c;
}

// op over shapes against a scalar function, at every level.
template <class T>
void CheckBinary(BinaryOp op, const std::vector<int64_t>& a_dims,
                 const std::vector<int64_t>& b_dims, const std::function<double(double, double)>& f,
                 double tolerance = 0) {
  const auto count = [](const std::vector<int64_t>& dims) {
    int64_t n = 1;
    for (int64_t d : dims) n *= d;
    return n;
  };
  const auto a = RandomValues<T>(count(a_dims), 1, 100, 1),
             b = RandomValues<T>(count(b_dims), 1, 100, 2);
  const auto broadcast = Broadcast::Make({a_dims, b_dims});
  ASSERT_TRUE(broadcast.ok());
  const Dims& out = broadcast->output_dims();
  for (IsaLevel level : TestLevels()) {
    std::vector<T> c(static_cast<size_t>(broadcast->elements()));
    TestWork work(level, 2);
    ASSERT_TRUE(RunBinary(work, op, kDTypeOf<T>, *broadcast, a.data(), b.data(), c.data()).ok());
    for (int64_t i = 0; i < broadcast->elements(); ++i) {
      int64_t rest = i, ia = 0, ib = 0, step_a = 1, step_b = 1;
      for (int d = out.size() - 1; d >= 0; --d) {
        const int64_t place = rest % out[d];
        rest /= out[d];
        const int from_right = out.size() - 1 - d;
        const auto walk = [&](const std::vector<int64_t>& dims, int64_t& index, int64_t& step) {
          if (from_right >= static_cast<int>(dims.size())) return;
          const int64_t own = dims[dims.size() - 1 - static_cast<size_t>(from_right)];
          if (own != 1) index += place * step;
          step *= own;
        };
        walk(a_dims, ia, step_a);
        walk(b_dims, ib, step_b);
      }
      ASSERT_NEAR(ToDouble(c[i]), f(ToDouble(a[ia]), ToDouble(b[ib])), tolerance)
          << "element " << i;
    }
  }
}

TEST(BinaryTest, BroadcastShapes) {
  const auto subtract = [](double x, double y) { return x - y; };
  const std::vector<std::pair<std::vector<int64_t>, std::vector<int64_t>>> shapes = {
      {{}, {}},
      {{7}, {7}},
      {{7}, {}},
      {{}, {7}},
      {{5, 3}, {3}},
      {{5, 3}, {5, 1}},
      {{5, 1}, {1, 3}},
      {{3}, {5, 3}},
      {{4, 1, 6}, {5, 1}},
      {{2, 3, 4}, {2, 1, 4}},
      {{300, 10}, {10}},
      {{300, 10}, {300, 1}},
      {{20, 1, 200}, {30, 1}},
      {{3, 70000}, {70000}},
      {{3, 70000}, {3, 1}},
      {{0, 3}, {3}},
      {{1, 1}, {4, 1, 0}},
      {{2, 1, 3, 1, 2}, {5, 1, 4, 1}},
      {{200000}, {1}},
      {{2500, 2}, {2500, 1}},
  };
  for (const auto& [a, b] : shapes) {
    CheckBinary<int32_t>(BinaryOp::kSub, a, b, subtract);
    CheckBinary<double>(BinaryOp::kSub, a, b, subtract);
    CheckBinary<int8_t>(BinaryOp::kSub, a, b, subtract);
    CheckBinary<Half>(BinaryOp::kSub, a, b, subtract, 0.04);
  }
}

TEST(BinaryTest, IncompatibleShapesAreAnError) {
  const std::vector<int64_t> a = {2, 3}, b = {4};
  const Status status = Broadcast::Make({a, b}).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.message(), "Incompatible shapes: [2,3] vs. [4]");
  const std::vector<int64_t> big = {int64_t{1} << 62, 1}, other = {1, 4};
  EXPECT_EQ(Broadcast::Make({big, other}).status().code(), Code::kInvalidArgument);
}

TEST(BinaryTest, RealFunctions) {
  struct Case {
    BinaryOp op;
    std::function<double(double, double)> f;
  };
  using B = BinaryOp;
  const std::vector<Case> cases = {
      {B::kAdd, [](double x, double y) { return x + y; }},
      {B::kMul, [](double x, double y) { return x * y; }},
      {B::kDiv, [](double x, double y) { return x / y; }},
      {B::kFloorDiv, [](double x, double y) { return std::floor(x / y); }},
      {B::kFloorMod, [](double x, double y) { return x - y * std::floor(x / y); }},
      {B::kTruncateMod, [](double x, double y) { return std::fmod(x, y); }},
      {B::kMaximum, [](double x, double y) { return std::max(x, y); }},
      {B::kMinimum, [](double x, double y) { return std::min(x, y); }},
      {B::kSquaredDifference, [](double x, double y) { return (x - y) * (x - y); }},
      {B::kAtan2, [](double x, double y) { return std::atan2(x, y); }},
      {B::kTanhGrad, [](double y, double g) { return g * (1 - y * y); }},
      {B::kSigmoidGrad, [](double y, double g) { return g * y * (1 - y); }},
      {B::kReluGrad, [](double g, double x) { return x > 0 ? g : 0; }},
      {B::kRelu6Grad, [](double g, double x) { return x > 0 && x < 6 ? g : 0; }},
      {B::kSqrtGrad, [](double y, double g) { return g * 0.5 / y; }},
      {B::kRsqrtGrad, [](double y, double g) { return -0.5 * g * y * y * y; }},
      {B::kReciprocalGrad, [](double y, double g) { return -g * y * y; }},
      {B::kSoftplusGrad, [](double g, double x) { return g / (1 + std::exp(-x)); }},
      {B::kSoftsignGrad,
       [](double g, double x) { return g / ((1 + std::abs(x)) * (1 + std::abs(x))); }},
      {B::kEluGrad, [](double g, double y) { return y < 0 ? g * (y + 1) : g; }},
      {B::kXlogy, [](double x, double y) { return x * std::log(y); }},
      {B::kXdivy, [](double x, double y) { return x / y; }},
      {B::kDivNoNan, [](double x, double y) { return x / y; }},
  };
  for (const Case& c : cases) {
    CheckBinary<double>(c.op, {37}, {37}, c.f, 1e-8);
    CheckBinary<double>(c.op, {37}, {}, c.f, 1e-8);
    CheckBinary<double>(c.op, {}, {37}, c.f, 1e-8);
  }
  EXPECT_EQ(Compute(B::kPow, std::vector<double>{2, 9, 0}, std::vector<double>{10, 0.5, 0}),
            (std::vector<double>{1024, 3, 1}));
}

TEST(BinaryTest, IntegerDivisionNeverTraps) {
  constexpr int32_t kMin = std::numeric_limits<int32_t>::min();
  constexpr int64_t kMin64 = std::numeric_limits<int64_t>::min();
  using V = std::vector<int32_t>;
  EXPECT_EQ(Compute(BinaryOp::kDiv, V{7, -7, 7, -7, kMin}, V{2, 2, -2, -2, -1}),
            (V{3, -3, -3, 3, kMin}));
  EXPECT_EQ(Compute(BinaryOp::kFloorDiv, V{7, -7, 7, -7, kMin}, V{2, 2, -2, -2, -1}),
            (V{3, -4, -4, 3, kMin}));
  EXPECT_EQ(Compute(BinaryOp::kTruncateMod, V{7, -7, 7, -7, kMin}, V{2, 2, -2, -2, -1}),
            (V{1, -1, 1, -1, 0}));
  EXPECT_EQ(Compute(BinaryOp::kFloorMod, V{7, -7, 7, -7, kMin}, V{2, 2, -2, -2, -1}),
            (V{1, 1, -1, -1, 0}));
  EXPECT_EQ(Compute(BinaryOp::kDiv, std::vector<int64_t>{kMin64}, std::vector<int64_t>{-1}),
            std::vector<int64_t>{kMin64});
  for (BinaryOp op :
       {BinaryOp::kDiv, BinaryOp::kFloorDiv, BinaryOp::kFloorMod, BinaryOp::kTruncateMod}) {
    EXPECT_EQ(Compute(op, V{7, 8}, V{0, 2}, Code::kInvalidArgument)[0], 0);
    Compute(op, std::vector<uint8_t>{7}, std::vector<uint8_t>{0}, Code::kInvalidArgument);
    Compute(op, std::vector<uint64_t>{7}, std::vector<uint64_t>{0}, Code::kInvalidArgument);
  }
  EXPECT_EQ(Compute(BinaryOp::kFloorDiv, std::vector<int8_t>{-128}, std::vector<int8_t>{-1}),
            std::vector<int8_t>{-128});
  EXPECT_EQ(
      Compute(BinaryOp::kDiv, std::vector<uint64_t>{~uint64_t{0}}, std::vector<uint64_t>{2})[0],
      ~uint64_t{0} / 2);
  EXPECT_EQ(
      Compute(BinaryOp::kFloorMod, std::vector<uint32_t>{0xffffffff}, std::vector<uint32_t>{16})[0],
      15u);
}

TEST(BinaryTest, IntegerPowersAndShifts) {
  using V = std::vector<int32_t>;
  EXPECT_EQ(Compute(BinaryOp::kPow, V{3, -2, 0, 2}, V{4, 3, 0, 40}), (V{81, -8, 1, 0}));
  EXPECT_EQ(Compute(BinaryOp::kPow, V{3}, V{-1}, Code::kInvalidArgument), V{0});
  EXPECT_EQ(Compute(BinaryOp::kLeftShift, V{1, 1, 1}, V{3, -5, 99}),
            (V{8, 1, std::numeric_limits<int32_t>::min()}));
  EXPECT_EQ(Compute(BinaryOp::kRightShift, V{-8, 8}, V{1, 99}), (V{-4, 0}));
  using Narrow = std::vector<int8_t>;  // as in TensorFlow, by seven bits at most
  EXPECT_EQ(Compute(BinaryOp::kLeftShift, Narrow{1, 1}, Narrow{99, -5}), (Narrow{-128, 1}));
  using Unsigned = std::vector<uint8_t>;
  EXPECT_EQ(Compute(BinaryOp::kRightShift, Unsigned{250, 1}, Unsigned{99, 0}), (Unsigned{1, 1}));
  EXPECT_EQ(Compute(BinaryOp::kBitwiseXor, V{6}, V{3}), V{5});
}

TEST(BinaryTest, GradientsKeepWhatIsNotFinite) {
  using V = std::vector<float>;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(Compute(BinaryOp::kReluGrad, V{nan}, V{-1})[0]));
  EXPECT_TRUE(std::isnan(Compute(BinaryOp::kRelu6Grad, V{nan}, V{7})[0]));
  EXPECT_EQ(Compute(BinaryOp::kSqrtGrad, V{0}, V{0}), V{0});
}

TEST(BinaryTest, NanGoesThroughMaximumAndMinimum) {
  for (auto op : {BinaryOp::kMaximum, BinaryOp::kMinimum}) {
    const auto c =
        Compute(op, std::vector<float>{kNan, 1, kNan}, std::vector<float>{1, kNan, kNan});
    for (float v : c) EXPECT_TRUE(std::isnan(v));
  }
}

TEST(BinaryTest, ComparisonsGiveBool) {
  EXPECT_EQ(BinaryResult(BinaryOp::kLess, DType::kHalf), DType::kBool);
  TestWork work;
  std::vector<Half> a, b;
  for (int i = 0; i < 600; ++i) {
    a.push_back(Half(static_cast<float>(i)));
    b.push_back(Half(300.0f));
  }
  std::vector<uint8_t> c(600);
  ASSERT_TRUE(RunBinary(work, BinaryOp::kLess, DType::kHalf, Broadcast::Dense(600, 2), a.data(),
                        b.data(), c.data())
                  .ok());
  for (int i = 0; i < 600; ++i) EXPECT_EQ(c[i], i < 300);
  const bool x[2] = {true, false}, y[2] = {true, true};
  bool z[2];
  ASSERT_TRUE(
      RunBinary(work, BinaryOp::kLogicalAnd, DType::kBool, Broadcast::Dense(2, 2), x, y, z).ok());
  EXPECT_TRUE(z[0] && !z[1]);
}

TEST(BinaryTest, InPlace) {
  auto a = RandomValues(5000);
  const auto before = a, b = RandomValues(5000, -1, 1, 2);
  TestWork work;
  ASSERT_TRUE(RunBinary(work, BinaryOp::kAdd, DType::kFloat, Broadcast::Dense(5000, 2), a.data(),
                        b.data(), a.data())
                  .ok());
  for (int i = 0; i < 5000; ++i) ASSERT_EQ(a[i], before[i] + b[i]);
}

template <class From, class To>
std::vector<To> CastTo(const std::vector<From>& from) {
  std::vector<To> to(from.size());
  TestWork work;
  EXPECT_TRUE(RunCast(work, kDTypeOf<From>, kDTypeOf<To>, static_cast<int64_t>(from.size()),
                      from.data(), to.data())
                  .ok());
  return to;
}

TEST(CastTest, BetweenKinds) {
  EXPECT_EQ((CastTo<float, int32_t>({1.9f, -1.9f, 3e9f, kNan})),
            (std::vector<int32_t>{1, -1, std::numeric_limits<int32_t>::min(),
                                  std::numeric_limits<int32_t>::min()}));
  EXPECT_EQ((CastTo<float, uint8_t>({255.5f, 256, -1})), (std::vector<uint8_t>{255, 0, 255}));
  EXPECT_EQ((CastTo<double, uint64_t>({1e19, 5})),
            (std::vector<uint64_t>{10000000000000000000u, 5}));
  EXPECT_EQ((CastTo<int64_t, int8_t>({300, -129})), (std::vector<int8_t>{44, 127}));
  EXPECT_EQ((CastTo<std::complex<float>, double>({{2, 3}})), std::vector<double>{2});
  EXPECT_EQ((CastTo<int16_t, std::complex<double>>({-4})),
            (std::vector<std::complex<double>>{-4.0}));
  EXPECT_EQ((CastTo<Half, float>({Half(1.5f)})[0]), 1.5f);
  EXPECT_EQ((CastTo<Bfloat16, int32_t>({Bfloat16(-7.5f)})), std::vector<int32_t>{-7});
  TestWork work;
  const float x[2] = {0, 0.1f};
  bool y[2];
  ASSERT_TRUE(RunCast(work, DType::kFloat, DType::kBool, 2, x, y).ok());
  EXPECT_TRUE(!y[0] && y[1]);
  EXPECT_EQ(RunCast(work, DType::kString, DType::kBool, 2, x, y).code(), Code::kUnimplemented);
}

TEST(CastTest, HalvesAsTheScalarConversionsMakeThemAtEveryLevel) {
  std::vector<uint16_t> all(65536);
  for (int i = 0; i < 65536; ++i) all[i] = static_cast<uint16_t>(i);
  std::vector<float> floats(65536 + 3);
  for (int i = 0; i < 65536 + 3; ++i)
    floats[i] = std::bit_cast<float>(static_cast<uint32_t>(i) * 65521u);
  for (uint32_t high = 0; high < 65536; ++high) {  // half way between two of bfloat16
    floats.push_back(std::bit_cast<float>(high << 16 | 0x8000u));
  }
  for (IsaLevel level : TestLevels()) {
    TestWork work(level);
    std::vector<float> wide(65536);
    ASSERT_TRUE(RunCast(work, DType::kHalf, DType::kFloat, 65536, all.data(), wide.data()).ok());
    for (int i = 0; i < 65536; ++i) {
      const float expected = HalfBitsToFloat(all[i]);
      ASSERT_TRUE(wide[i] == expected || (std::isnan(wide[i]) && std::isnan(expected))) << i;
    }
    std::vector<uint16_t> narrow(floats.size());
    const auto n = static_cast<int64_t>(floats.size());
    ASSERT_TRUE(RunCast(work, DType::kFloat, DType::kHalf, n, floats.data(), narrow.data()).ok());
    for (int64_t i = 0; i < n; ++i) {
      if (std::isnan(floats[i])) continue;
      ASSERT_EQ(narrow[i], FloatToHalfBits(floats[i])) << floats[i];
    }
    ASSERT_TRUE(
        RunCast(work, DType::kFloat, DType::kBfloat16, n, floats.data(), narrow.data()).ok());
    for (int64_t i = 0; i < n; ++i) ASSERT_EQ(narrow[i], Bfloat16(floats[i]).bits) << floats[i];
  }
}

TEST(SelectTest, BroadcastsAllThree) {
  const bool c[3] = {true, false, true};
  const int16_t a[6] = {1, 2, 3, 4, 5, 6};
  const int16_t b = -1;
  int16_t out[6];
  const std::vector<int64_t> c_dims = {3, 1}, a_dims = {3, 2}, b_dims = {};
  const auto broadcast = Broadcast::Make({c_dims, a_dims, b_dims});
  ASSERT_TRUE(broadcast.ok());
  TestWork work;
  ASSERT_TRUE(RunSelect(work, 2, *broadcast, c, a, &b, out).ok());
  EXPECT_EQ(std::vector<int16_t>(out, out + 6), (std::vector<int16_t>{1, 2, -1, -1, 5, 6}));
}

}  // namespace
}  // namespace thalweg::compute
