// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "thalweg/testing/op_case.h"

namespace thalweg {
namespace {

template <class F>
OpCase Compare(const char* op, F f) {
  OpCase made(op);
  made.Elementwise(f)
      .Try({In({7, 31}).Range(-2, 4), In({7, 31})})
      .Try({In({6}, {0, 1, 2, 1, 0, 3}), In({6}, {0, 2, 1, 1, 1, 3})})
      .Try({In({4, 1}, {0, 1, 2, 1}), In({3}, {0, 1, 3})})
      .Try({In({}), In({5})})
      .Try({In({0, 3}), In({3})})
      .Bad({In({2}), In({3})}, {}, Code::kInvalidArgument, "");
  return made;
}

TEST(CompareTest, Order) {
  Compare("Less", [](double x, double y) { return double(x < y); }).Run();
  Compare("LessEqual", [](double x, double y) { return double(x <= y); }).Run();
  Compare("Greater", [](double x, double y) { return double(x > y); }).Run();
  Compare("GreaterEqual", [](double x, double y) { return double(x >= y); }).Run();
}

TEST(CompareTest, Equality) {
  constexpr DType kOthers[] = {DType::kString, DType::kQint8,   DType::kQuint8,
                               DType::kQint16, DType::kQuint16, DType::kQint32};
  OpCase equal = Compare("Equal", [](auto x, auto y) { return decltype(x)(x == y); });
  OpCase differ = Compare("NotEqual", [](auto x, auto y) { return decltype(x)(x != y); });
  for (DType dtype : kOthers) {
    equal.Skip(dtype, "see StringsAndQuantized");
    differ.Skip(dtype, "see StringsAndQuantized");
  }
  equal.Run();
  differ.Run();
}

TEST(CompareTest, StringsAndQuantized) {
  const std::vector<std::string> words = {"a", "b"};
  const Tensor text = Tensor::Of<std::string>(words, Shape{2});
  const Tensor same = (*RunOp("Equal", {text, Tensor::Scalar("b")}))[0];
  EXPECT_FALSE(same.data<bool>()[0]);
  EXPECT_TRUE(same.data<bool>()[1]);
  EXPECT_TRUE((*RunOp("NotEqual", {text, Tensor::Scalar("b")}))[0].data<bool>()[0]);
  const Tensor none = Tensor::Of<std::string>({}, Shape{2, 0, 1});
  EXPECT_EQ((*RunOp("Equal", {none, text}))[0].shape(), Shape({2, 0, 2}));
  const Tensor small = *Tensor::Vector<int8_t>({-3, 4}).Bitcast(DType::kQint8);
  const Tensor other = *Tensor::Vector<int8_t>({-3, 5}).Bitcast(DType::kQint8);
  const Tensor equal = (*RunOp("Equal", {small, other}))[0];
  EXPECT_TRUE(equal.data<bool>()[0]);
  EXPECT_FALSE(equal.data<bool>()[1]);
}

TEST(CompareTest, ShapesThatDoNotBroadcastAreUnequalOnDemand) {
  const AttrMap lenient = {{"incompatible_shape_error", false}};
  const Tensor a = Tensor::Vector<float>({1, 2}), b = Tensor::Vector<float>({1, 2, 3});
  EXPECT_FALSE((*RunOp("Equal", {a, b}, lenient))[0].scalar<bool>());
  EXPECT_TRUE((*RunOp("NotEqual", {a, b}, lenient))[0].scalar<bool>());
  EXPECT_TRUE((*RunOp("Equal", {a, a}, lenient))[0].data<bool>()[1]);
}

TEST(CompareTest, NearlyEqual) {
  OpCase("ApproximateEqual")
      .Elementwise([](double x, double y) { return double(std::abs(x - y) < 0.5); })
      .Try({In({7, 31}), In({7, 31})}, {{"tolerance", 0.5f}})
      .Try({In({0}), In({0})}, {{"tolerance", 0.5f}})
      .Bad({In({2}), In({})}, {}, Code::kInvalidArgument, "")
      .Run();
}

TEST(CompareTest, Logic) {
  Compare("LogicalAnd", [](double x, double y) { return double(x != 0 && y != 0); }).Run();
  Compare("LogicalOr", [](double x, double y) { return double(x != 0 || y != 0); }).Run();
}

}  // namespace
}  // namespace thalweg
