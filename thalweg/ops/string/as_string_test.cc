// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "thalweg/testing/test_values.h"

namespace thalweg {
namespace {

// Recorded with TensorFlow 2.21.
TEST(AsStringTest, Formats) {
  const Tensor ints = Numbers<int32_t>({1, -2}), floats = Numbers<float>({1.5f, -2e10f});
  const auto expect = [](const Tensor& x, const AttrMap& attrs, std::vector<std::string> expected) {
    ExpectOutputs("AsString", {x}, attrs, {Texts(expected)});
  };
  const AttrMap wide = {{"width", int64_t{8}}};
  const auto filled = [](const char* fill) {
    return AttrMap{{"width", int64_t{8}}, {"fill", std::string(fill)}};
  };
  expect(ints, {}, {"1", "-2"});
  expect(ints, wide, {"       1", "      -2"});
  expect(ints, filled("0"), {"00000001", "-0000002"});
  expect(ints, filled("-"), {"1       ", "-2      "});
  expect(floats, {}, {"1.500000", "-20000000000.000000"});
  expect(floats, {{"precision", int64_t{2}}}, {"1.50", "-20000000000.00"});
  expect(floats, {{"scientific", true}}, {"1.500000e+00", "-2.000000e+10"});
  expect(floats, {{"shortest", true}}, {"1.5", "-2e+10"});
  expect(Numbers<std::complex<float>>({{1, 2}}), {{"shortest", true}}, {"(1,2)"});
  expect(Tensor::Vector<bool>({true, false}), filled("0"), {"true", "false"});
  expect(Numbers<Half>({Half(1.5f)}), {}, {"1.500000"});
  expect(Numbers<uint64_t>({uint64_t{1} << 63}), {}, {"9223372036854775808"});
  expect(Numbers<int8_t>({-3}), {}, {"-3"});
  expect(Texts({"ab"}), wide, {"      ab"});
  expect(Numbers<double>({std::nan(""), -std::numeric_limits<double>::infinity()}), {},
         {"nan", "-inf"});
}

TEST(AsStringTest, Refusals) {
  const Tensor ints = Numbers<int32_t>({1}), floats = Numbers<float>({1});
  const auto refuse = [](const Tensor& x, const AttrMap& attrs, std::string_view why) {
    ExpectError("AsString", {x}, attrs, Code::kInvalidArgument, why);
  };
  refuse(ints, {{"precision", int64_t{2}}}, "precision not supported for datatype int32");
  refuse(ints, {{"shortest", true}}, "not supported for datatype int32");
  refuse(floats, {{"shortest", true}, {"scientific", true}}, "Cannot select both");
  refuse(floats, {{"fill", std::string("x")}}, "Fill argument not supported");
  refuse(floats, {{"fill", std::string("00")}}, "one or fewer characters");
  refuse(floats, {{"width", int64_t{1} << 40}}, "at most");
}

template <class T>
void ExpectNumbers(const std::vector<std::string>& texts, const std::vector<T>& expected) {
  ExpectOutputs("StringToNumber", {Texts(texts)}, {{"out_type", kDTypeOf<T>}}, {Numbers(expected)});
}

// As TensorFlow 2.21 reads them.
TEST(AsStringTest, ReadsNumbers) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  ExpectNumbers<float>({"1", " 1.5\n", "1e3", "-Inf", "0x10", "1.", "+3", "1e400", "-1e-400", ".5"},
                       {1, 1.5f, 1000, -kInf, 16, 1, 3, kInf, -0.0f, 0.5f});
  ExpectNumbers<double>({"1e400", "1e-400", "infinity", "0.1"}, {kInf, 0, kInf, 0.1});
  ExpectNumbers<int32_t>({"\t1\n", "+3", "-2147483648"}, {1, 3, -2147483647 - 1});
  ExpectNumbers<uint32_t>({"4294967295"}, {4294967295u});
  ExpectNumbers<int64_t>({"4294967296"}, {4294967296});
  ExpectNumbers<uint64_t>({"18446744073709551615"}, {18446744073709551615u});
  const auto nan = RunOp("StringToNumber", {Texts({"nan", "NaN(1)"})});
  ASSERT_TRUE(nan.ok()) << nan.status().ToString();
  EXPECT_TRUE(std::isnan((*nan)[0].data<float>()[0]) && std::isnan((*nan)[0].data<float>()[1]));
  for (const char* text : {"", " ", "abc", "1 2", "1f", "- 1", "1_0", "--1", "+-1", "0x", "0x-1"}) {
    for (DType type : {DType::kFloat, DType::kDouble, DType::kInt32, DType::kUint64}) {
      ExpectError("StringToNumber", {Texts({"1", text})}, {{"out_type", type}},
                  Code::kInvalidArgument, "could not correctly convert string");
    }
  }
  for (const char* text : {"1.5", "0x10", "99999999999999999999", "1e3"}) {
    ExpectError("StringToNumber", {Texts({text})}, {{"out_type", DType::kInt64}},
                Code::kInvalidArgument, text);
  }
  ExpectError("StringToNumber", {Texts({"-1"})}, {{"out_type", DType::kUint32}},
              Code::kInvalidArgument, "-1");
}

std::string Formatted(const std::vector<Tensor>& values, const std::string& format,
                      int64_t summarize = 3) {
  std::vector<DType> types;
  for (const Tensor& value : values) types.push_back(value.dtype());
  const auto got = RunOp("StringFormat", values,
                         {{"T", types},
                          {"template", format},
                          {"placeholder", std::string("{}")},
                          {"summarize", summarize}});
  return got.ok() ? (*got)[0].scalar<std::string>() : got.status().ToString();
}

// Recorded with TensorFlow 2.21.
TEST(AsStringTest, FormatsTensors) {
  std::vector<int32_t> many(24);
  for (int i = 0; i < 24; ++i) many[static_cast<size_t>(i)] = i;
  EXPECT_EQ(Formatted({Numbers<int32_t>({1, 2, 3, 4, 5, 6, 7, 8})}, "x={} y"),
            "x=[1 2 3 ... 6 7 8] y");
  EXPECT_EQ(Formatted({Numbers(many, Shape{2, 3, 4})}, "{}", 1),
            "[[[0 ... 3]\n  ...\n  [8 ... 11]]\n\n [[12 ... 15]\n  ...\n  [20 ... 23]]]");
  EXPECT_EQ(Formatted({Numbers(many, Shape{2, 3, 4})}, "{}", 0), "[\n\n ...]");
  EXPECT_EQ(
      Formatted({Numbers<float>({1.1f, 1e10f, 1e-10f, NAN, INFINITY, 1e8f, 1 / 3.0f})}, "{}", -1),
      "[1.1 1e+10 1e-10 nan inf 1e+08 0.333333343]");
  EXPECT_EQ(Formatted({Numbers<double>({0.1, 1 / 3.0}), Numbers<Half>({Half(1.1f)})}, "{}{}"),
            "[0.1 0.33333333333333331][1.09960938]");
  EXPECT_EQ(Formatted({Texts({std::string("a\0\xc3\xa9\"'\\\t", 8), "\xff"}), Tensor::Scalar("a\n"),
                       Tensor::Scalar(true)},
                      "{} {} {}"),
            "[\"a\\000\xc3\xa9\\\"\\'\\\\\\t\" \"\xff\"] \"a\\n\" 1");
  EXPECT_EQ(Formatted({Numbers<float>({}), Numbers<float>({}, Shape{2, 0})}, "{}{}"), "[][\n ...]");
  EXPECT_NE(Formatted({Tensor::Scalar(1)}, "{}{}").find("must match: 2 vs. 1"), std::string::npos);
}

}  // namespace
}  // namespace thalweg
