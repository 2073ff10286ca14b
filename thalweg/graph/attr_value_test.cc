// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/attr_value.h"

#include <gtest/gtest.h>

#include <limits>

namespace thalweg {
namespace {

TEST(AttrValue, HoldsEveryKind) {
  EXPECT_EQ(*AttrValue("a").Get<std::string>(), "a");
  EXPECT_EQ(*AttrValue(-7).Get<int64_t>(), -7);
  EXPECT_EQ(*AttrValue(0.5f).Get<float>(), 0.5f);
  EXPECT_EQ(*AttrValue(true).Get<bool>(), true);
  EXPECT_EQ(*AttrValue(DType::kHalf).Get<DType>(), DType::kHalf);
  EXPECT_EQ(*AttrValue(PartialShape{2, -1}).Get<PartialShape>(), (PartialShape{2, -1}));
  EXPECT_EQ(AttrValue(Tensor::Scalar(3)).Get<Tensor>()->scalar<int32_t>(), 3);
  EXPECT_EQ(AttrValue(FunctionRef{"f", {{"T", DType::kInt32}}}).Get<FunctionRef>()->name, "f");
  EXPECT_EQ(AttrValue(std::vector<std::string>{"x", "y"}).Get<std::vector<std::string>>()->size(),
            2u);
  EXPECT_EQ(AttrValue(std::vector<int64_t>{1, 2, 3}).list_size(), 3u);
  EXPECT_EQ(AttrValue(std::vector<bool>{true}).Get<std::vector<bool>>()->at(0), true);
}

TEST(AttrValue, GetSaysWhatItIsInstead) {
  const Status status = AttrValue(DType::kFloat).Get<int64_t>().status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.message(), "expected an int, got a type");
  EXPECT_FALSE(AttrValue(std::vector<int64_t>{1}).Get<std::vector<float>>().ok());
}

TEST(AttrValue, EmptyListReadsAsAnyList) {
  EXPECT_TRUE(AttrValue::EmptyList().Get<std::vector<DType>>()->empty());
  EXPECT_TRUE(AttrValue::EmptyList().Get<std::vector<Tensor>>()->empty());
  EXPECT_FALSE(AttrValue::EmptyList().Get<std::string>().ok());
  EXPECT_EQ(AttrValue::EmptyList(), AttrValue(std::vector<float>{}));
  EXPECT_FALSE(AttrValue(std::vector<int64_t>{}) == AttrValue(std::vector<float>{}));
}

TEST(AttrValue, EqualityLooksAtKindAndBits) {
  EXPECT_EQ(AttrValue(3), AttrValue(int64_t{3}));
  EXPECT_FALSE(AttrValue(1) == AttrValue(true));
  EXPECT_EQ(AttrValue("ab"), AttrValue(std::string("ab")));
  EXPECT_FALSE(AttrValue("ab") == AttrValue("ac"));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(AttrValue(nan), AttrValue(nan));
  EXPECT_FALSE(AttrValue(0.0f) == AttrValue(-0.0f));
  EXPECT_EQ(AttrValue(Tensor::Vector<float>({1, 2})), AttrValue(Tensor::Vector<float>({1, 2})));
  EXPECT_FALSE(AttrValue(Tensor::Vector<float>({1, 2})) ==
               AttrValue(Tensor::Vector<float>({1, 3})));
  EXPECT_FALSE(AttrValue(Tensor::Vector<float>({1})) == AttrValue(Tensor::Scalar(1.0f)));
  EXPECT_EQ(AttrValue(Tensor::Scalar("s")), AttrValue(Tensor::Scalar("s")));
  EXPECT_FALSE(AttrValue(FunctionRef{"f", {{"a", 1}}}) == AttrValue(FunctionRef{"f", {{"a", 2}}}));
}

TEST(AttrValue, PrintsAsTheSchemaLanguageDoes) {
  EXPECT_EQ(AttrValue(DType::kFloat).ToString(), "DT_FLOAT");
  EXPECT_EQ(AttrValue(DType::kBfloat16).ToString(), "DT_BFLOAT16");
  EXPECT_EQ(AttrValue(PartialShape{1, 2}).ToString(), "[1,2]");
  EXPECT_EQ(AttrValue("SA\"ME\n").ToString(), "\"SA\\\"ME\\012\"");
  EXPECT_EQ(AttrValue(std::vector<bool>{true, false}).ToString(), "[true, false]");
  EXPECT_EQ(AttrValue(FunctionRef{"f", {{"T", DType::kInt32}, {"n", 1}}}).ToString(),
            "f[T=DT_INT32, n=1]");
  EXPECT_EQ(AttrValue::Placeholder("T").ToString(), "$T");
  EXPECT_EQ(AttrValue(std::vector<int64_t>(20, 7)).ToString(),
            "[7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, ...]");
}

TEST(AttrMap, IsSortedAndUnique) {
  AttrMap map = {{"b", 1}, {"a", 2}, {"c", 3}};
  map.Set("a", 4);
  map.Erase("c");
  ASSERT_EQ(map.size(), 2u);
  EXPECT_EQ(map.begin()->first, "a");
  EXPECT_EQ(*map.Find("a")->Get<int64_t>(), 4);
  EXPECT_EQ(map.Find("c"), nullptr);
}

}  // namespace
}  // namespace thalweg
