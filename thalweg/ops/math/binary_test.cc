// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>

#include "thalweg/testing/op_case.h"
#include "thalweg/testing/tolerance.h"

namespace thalweg {
namespace {

// A case of z = f(x, y); x in [-2, 2], y in [low, high].
template <class F>
OpCase Binary(const char* op, F f, double low = -2, double high = 2) {
  OpCase made(op);
  const auto x = [](std::initializer_list<int64_t> dims) { return In(dims).Away({0}, 0.1); };
  const auto y = [&](std::initializer_list<int64_t> dims) {
    return In(dims).Range(low, high).Away({0}, 0.1);
  };
  made.Elementwise(f)
      .Tolerance(DType::kHalf, ToleranceOf(OpClass::kArithmetic, DType::kHalf))
      .Tolerance(DType::kBfloat16, ToleranceOf(OpClass::kArithmetic, DType::kBfloat16))
      .Try({x({7, 31}), y({7, 31})})
      .Try({x({7, 31}), y({31})})
      .Try({x({7, 31}), y({})})
      .Try({x({}), y({7, 31})})
      .Try({x({5, 1, 3}), y({4, 1})})
      .Try({x({}), y({})})
      .Try({In({0, 3}), y({3})})
      .Try({In({2, 0}), y({2, 1})})
      .Bad({In({2, 3}), In({2})}, {}, Code::kInvalidArgument, "");
  return made;
}

double FloorMod(double x, double y) {
  const double rest = std::fmod(x, y);
  return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

TEST(BinaryTest, Sums) {
  Binary("Add", [](auto x, auto y) { return x + y; })
      .Skip(DType::kString, "see JoinsStrings")
      .Run();
  Binary(
      "AddV2", [](auto x, auto y) { return x + y; }, -9, 9)
      .Run();
  Binary(
      "Sub", [](auto x, auto y) { return x - y; }, -9, 9)
      .Run();
  Binary(
      "Mul", [](auto x, auto y) { return x * y; }, -99, 99)
      .Run();
  Binary("SquaredDifference", [](auto x, auto y) { return std::norm(x - y); }).Run();
  Binary(
      "Maximum", [](double x, double y) { return std::max(x, y); }, -2, 3)
      .Run();
  Binary(
      "Minimum", [](double x, double y) { return std::min(x, y); }, -2, 3)
      .Run();
}

TEST(BinaryTest, Quotients) {
  const auto quotient = [](auto x, auto y) { return x / y; };
  Binary("Div", quotient, 1, 3).Run();
  Binary("RealDiv", quotient, 1, 3).Run();
  Binary(
      "TruncateDiv", [](double x, double y) { return std::trunc(x / y); }, 1, 3)
      .Run();
  Binary(
      "FloorDiv", [](double x, double y) { return std::floor(x / y); }, 1, 2.5)
      .Run();
  Binary("FloorMod", FloorMod, 1, 2.5).Run();
  for (const char* op : {"Mod", "TruncateMod"}) {
    Binary(
        op, [](double x, double y) { return std::fmod(x, y); }, 1, 2.5)
        .Run();
  }
  Binary(
      "DivNoNan", [](auto x, auto y) { return std::abs(y) == 0 ? 0.0 * x : x / y; }, 0.5, 3)
      .Run();
  Binary("MulNoNan", [](auto x, auto y) { return std::abs(y) == 0 ? 0.0 * x : x * y; }).Run();
  Binary(
      "Xdivy", [](auto x, auto y) { return std::abs(x) == 0 ? x : x / y; }, 0.5, 3)
      .Run();
  Binary(
      "Xlogy", [](auto x, auto y) { return std::abs(x) == 0 ? x : x * std::log(y); }, 0.5, 3)
      .Run();
}

TEST(BinaryTest, PowersAndAngles) {
  OpCase("Pow")
      .Elementwise([](auto x, auto y) { return std::pow(x, y); })
      .Tolerance(DType::kHalf, ToleranceOf(OpClass::kArithmetic, DType::kHalf))
      .Tolerance(DType::kBfloat16, ToleranceOf(OpClass::kArithmetic, DType::kBfloat16))
      .Tolerance(DType::kComplex64, ToleranceOf(OpClass::kArithmetic, DType::kComplex64))
      .Try({In({7, 31}).Range(1, 3), In({31}).Range(0, 3)})
      .Try({In({}).Range(1, 3), In({7, 31}).Range(0, 3)})
      .Try({In({0}), In({1}).Range(0, 3)})
      .Run();
  Binary("Atan2", [](double y, double x) { return std::atan2(y, x); }).Run();
}

TEST(BinaryTest, Bits) {
  const auto as = [](double x) { return static_cast<int64_t>(x); };
  Binary(
      "BitwiseAnd", [as](double x, double y) { return double(as(x) & as(y)); }, -9, 9)
      .Run();
  Binary(
      "BitwiseOr", [as](double x, double y) { return double(as(x) | as(y)); }, -9, 9)
      .Run();
  Binary(
      "BitwiseXor", [as](double x, double y) { return double(as(x) ^ as(y)); }, -9, 9)
      .Run();
  Binary(
      "LeftShift", [as](double x, double y) { return double(as(x) * (1 << as(y))); }, 0, 3)
      .Run();
  Binary(
      "RightShift", [as](double x, double y) { return std::floor(x / (1 << as(y))); }, 0, 1)
      .Run();
}

TEST(BinaryTest, JoinsStrings) {
  const auto words = [](std::vector<std::string> values) {
    const Shape shape{static_cast<int64_t>(values.size())};
    return Tensor::Of<std::string>(values, shape);
  };
  const Tensor joined = (*RunOp("Add", {words({"a", "b", ""}), words({"x"})}))[0];
  EXPECT_EQ(joined.shape(), Shape({3}));
  EXPECT_EQ(joined.data<std::string>()[1], "bx");
  const Tensor none = Tensor::Of<std::string>({}, Shape{2, 0, 1});
  EXPECT_EQ((*RunOp("Add", {none, words({"a", "b"})}))[0].shape(), Shape({2, 0, 2}));
  EXPECT_EQ(RunOp("Add", {words({"a", "b"}), words({"x", "y", "z"})}).status().code(),
            Code::kInvalidArgument);
}

template <class T>
void ExpectDivisionByZeroFails() {
  for (const char* op : {"Div", "FloorDiv", "TruncateDiv", "FloorMod"}) {
    const Status status = RunOp(op, {Tensor::Scalar(T(3)), Tensor::Scalar(T(0))}).status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << op;
    EXPECT_NE(status.message().find("Integer division by zero"), std::string_view::npos) << op;
  }
}

TEST(BinaryTest, IntegerCorners) {
  ForEachType<IntegerTypes>([]<class T> { ExpectDivisionByZeroFails<T>(); });
  ForEachType<Types<int32_t, int64_t>>([]<class T> {
    const T least = std::numeric_limits<T>::min();
    const auto run = [&](const char* op) {
      return (*RunOp(op, {Tensor::Scalar(least), Tensor::Scalar(T(-1))}))[0].template scalar<T>();
    };
    for (const char* op : {"Div", "FloorDiv", "TruncateDiv", "Mul"})
      EXPECT_EQ(run(op), least) << op;
    for (const char* op : {"FloorMod", "Mod", "TruncateMod"}) EXPECT_EQ(run(op), 0) << op;
  });
  EXPECT_EQ(RunOp("Pow", {Tensor::Scalar(2), Tensor::Scalar(-1)}).status().code(),
            Code::kInvalidArgument);
}

TEST(BinaryTest, FloatCorners) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  const auto run = [](const char* op, float x, float y) {
    return (*RunOp(op, {Tensor::Scalar(x), Tensor::Scalar(y)}))[0].scalar<float>();
  };
  EXPECT_EQ(run("RealDiv", 1, 0), inf);
  EXPECT_EQ(run("DivNoNan", 1, 0), 0);
  EXPECT_EQ(run("MulNoNan", nan, 0), 0);
  EXPECT_EQ(run("Xlogy", 0, 0), 0);
  EXPECT_EQ(run("Xdivy", 0, 0), 0);
  EXPECT_TRUE(std::isnan(run("Maximum", nan, 1)));
  EXPECT_TRUE(std::isnan(run("Minimum", 1, nan)));
}

}  // namespace
}  // namespace thalweg
