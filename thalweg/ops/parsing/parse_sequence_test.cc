// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "thalweg/io/test_example_bytes.h"
#include "thalweg/testing/op_case.h"

namespace thalweg {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using KeyList = std::vector<std::string>;
using TypeList = std::vector<DType>;

Tensor TextVector(const KeyList& keys) {
  return Tensor::Of<std::string>(keys, Shape{static_cast<int64_t>(keys.size())});
}

const std::string kFirst =
    SequenceBytes({{"a", Floats({1, 2})}, {"n", Ints({3})}},
                  {{"w", ListBytes({Floats({1, 2}), Floats({3, 4})})},
                   {"t", ListBytes({BytesList({"x"}), BytesList({}), BytesList({"y", "z"})})}});
const std::string kSecond =
    SequenceBytes({{"a", Floats({5, 6})}}, {{"w", ListBytes({Floats({7, 8})})}, {"t", ""}});

// Context: dense a (float, [2]), sparse n. Lists: dense `dense` (float, rows of `row`), sparse t.
Result<std::vector<Tensor>> Batch(const KeyList& texts, const std::string& dense = "w",
                                  int64_t row = 2, const KeyList& assumed = {},
                                  KeyList names = {}) {
  return RunOp("ParseSequenceExample",
               {TextVector(texts), TextVector(names), Tensor::Vector<float>({})},
               {{"feature_list_dense_missing_assumed_empty", assumed},
                {"context_sparse_keys", KeyList{"n"}},
                {"context_dense_keys", KeyList{"a"}},
                {"feature_list_sparse_keys", KeyList{"t"}},
                {"feature_list_dense_keys", KeyList{dense}},
                {"Ncontext_sparse", int64_t{1}},
                {"Ncontext_dense", int64_t{1}},
                {"Nfeature_list_sparse", int64_t{1}},
                {"Nfeature_list_dense", int64_t{1}},
                {"context_sparse_types", TypeList{DType::kInt64}},
                {"Tcontext_dense", TypeList{DType::kFloat}},
                {"context_dense_shapes", std::vector<PartialShape>{{2}}},
                {"feature_list_dense_types", TypeList{DType::kFloat}},
                {"feature_list_sparse_types", TypeList{DType::kString}},
                {"feature_list_dense_shapes", std::vector<PartialShape>{{row}}}});
}
Result<std::vector<Tensor>> One(const std::string& text, const std::string& dense = "w",
                                int64_t row = 2, const KeyList& assumed = {}) {
  return RunOp(
      "ParseSingleSequenceExample",
      {Tensor::Scalar(text), TextVector(assumed), Tensor::Scalar("n"), Tensor::Scalar("a"),
       Tensor::Scalar("t"), Tensor::Scalar(dense), Tensor::Vector<float>({}), Tensor::Scalar("nm")},
      {{"Ncontext_sparse", int64_t{1}},
       {"Ncontext_dense", int64_t{1}},
       {"Nfeature_list_sparse", int64_t{1}},
       {"Nfeature_list_dense", int64_t{1}},
       {"context_sparse_types", TypeList{DType::kInt64}},
       {"Tcontext_dense", TypeList{DType::kFloat}},
       {"context_dense_shapes", std::vector<PartialShape>{{2}}},
       {"feature_list_dense_types", TypeList{DType::kFloat}},
       {"feature_list_sparse_types", TypeList{DType::kString}},
       {"feature_list_dense_shapes", std::vector<PartialShape>{{row}}}});
}

std::string SequenceError(const Result<std::vector<Tensor>>& result) {
  EXPECT_EQ(result.status().code(), Code::kInvalidArgument) << result.status().ToString();
  return std::string(result.status().message());
}

TEST(ParseSequenceTest, ABatchIsPaddedToItsLongestList) {
  const auto out = Batch({kFirst, kSecond});
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  EXPECT_THAT((*out)[1].flat<int64_t>(), ElementsAre(3));
  EXPECT_THAT((*out)[2].flat<int64_t>(), ElementsAre(2, 1));
  EXPECT_THAT((*out)[3].flat<float>(), ElementsAre(1, 2, 5, 6));
  EXPECT_THAT((*out)[4].flat<int64_t>(), ElementsAre(0, 0, 0, 0, 2, 0, 0, 2, 1));
  EXPECT_THAT((*out)[5].flat<std::string>(), ElementsAre("x", "y", "z"));
  EXPECT_THAT((*out)[6].flat<int64_t>(), ElementsAre(2, 3, 2));
  EXPECT_EQ((*out)[7].shape(), (Shape{2, 2, 2}));
  EXPECT_THAT((*out)[7].flat<float>(), ElementsAre(1, 2, 3, 4, 7, 8, 0, 0));
  EXPECT_THAT((*out)[8].flat<int64_t>(), ElementsAre(2, 1));
  EXPECT_EQ((*Batch({}))[7].shape(), (Shape{0, 0, 2}));
}

TEST(ParseSequenceTest, AnExampleByItself) {
  const auto out = One(kFirst);
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  EXPECT_THAT((*out)[0].flat<int64_t>(), ElementsAre(0));
  EXPECT_THAT((*out)[3].flat<float>(), ElementsAre(1, 2));
  EXPECT_THAT((*out)[4].flat<int64_t>(), ElementsAre(0, 0, 2, 0, 2, 1));
  EXPECT_THAT((*out)[6].flat<int64_t>(), ElementsAre(3, 2));
  EXPECT_EQ((*out)[7].shape(), (Shape{2, 2}));
  EXPECT_THAT((*out)[7].flat<float>(), ElementsAre(1, 2, 3, 4));
}

TEST(ParseSequenceTest, ListsThatMayBeAbsent) {
  EXPECT_THAT(
      SequenceError(Batch({kFirst, kSecond}, "zz", 2, {}, {"p", "q"})),
      HasSubstr("Name: p, Feature list 'zz' is required but could not be found.  Did you mean"));
  EXPECT_THAT(SequenceError(One(kFirst, "zz")),
              HasSubstr("Name: nm, Feature list 'zz' is required"));
  const auto out = Batch({kFirst, kSecond}, "zz", 2, {"zz"});
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  EXPECT_EQ((*out)[7].shape(), (Shape{2, 0, 2}));
  EXPECT_THAT((*out)[8].flat<int64_t>(), ElementsAre(0, 0));
  EXPECT_EQ((*One(kFirst, "zz", 2, {"zz"}))[7].shape(), (Shape{0, 2}));
}

TEST(ParseSequenceTest, NumbersThatAreLeftOutHaveTheirDefaults) {
  const auto out = RunOp("ParseSingleSequenceExample",
                         {Tensor::Scalar(kFirst), TextVector({}), Tensor::Scalar("a"),
                          Tensor::Vector<float>({}), Tensor::Scalar("")},
                         {{"Ncontext_dense", int64_t{1}},
                          {"Tcontext_dense", TypeList{DType::kFloat}},
                          {"context_dense_shapes", std::vector<PartialShape>{{2}}}});
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  EXPECT_THAT((*out)[0].flat<float>(), ElementsAre(1, 2));
}

TEST(ParseSequenceTest, Errors) {
  EXPECT_THAT(
      SequenceError(Batch({kFirst}, "t", 1)),
      HasSubstr("Feature list: t, Index: 0.  Data types don't match. Expected type: float"));
  EXPECT_THAT(
      SequenceError(Batch({kFirst}, "w", 3)),
      HasSubstr("Key: w, Index: 0.  Number of float values != expected.  values size: 2 but "
                "output shape: [3] (example 0 of 1)"));
  EXPECT_THAT(
      SequenceError(Batch({kFirst, SequenceBytes({}, {{"w", ""}})})),
      HasSubstr("Feature: a (data type: float) is required but could not be found. (example 1"));
  EXPECT_THAT(SequenceError(One(SequenceBytes({}, {}))),
              HasSubstr("Context feature 'a' is required"));
  EXPECT_THAT(SequenceError(Batch({kFirst, "hello world"})),
              HasSubstr("Invalid protocol message input"));
  EXPECT_THAT(SequenceError(Batch({kFirst}, "w", -1)), HasSubstr("is not fully defined"));
  const std::string bad = SequenceBytes({{"a", Floats({1, 2})}}, {{"w", "\x08\x01"}});
  EXPECT_THAT(SequenceError(Batch({bad})), HasSubstr("Can't parse serialized SequenceExample"));
}

TEST(ParseSequenceTest, Ragged) {
  const auto parse = [](const Tensor& texts) {
    const Tensor none = TextVector({});
    return RunOp("ParseSequenceExampleV2",
                 {texts, none, none, none, TextVector({"a"}), none, none, TextVector({"t", "w"}),
                  Tensor::Of<bool>({}, Shape{0})},
                 {{"context_ragged_value_types", TypeList{DType::kFloat}},
                  {"context_ragged_split_types", TypeList{DType::kInt32}},
                  {"Tcontext_dense", TypeList{}},
                  {"feature_list_ragged_value_types", TypeList{DType::kString, DType::kFloat}},
                  {"feature_list_ragged_split_types", TypeList{DType::kInt64, DType::kInt32}}});
  };
  const auto out = parse(TextVector({kFirst, kSecond}));
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  EXPECT_THAT((*out)[0].flat<float>(), ElementsAre(1, 2, 5, 6));
  EXPECT_THAT((*out)[1].flat<int32_t>(), ElementsAre(0, 2, 4));
  EXPECT_THAT((*out)[2].flat<std::string>(), ElementsAre("x", "y", "z"));
  EXPECT_THAT((*out)[3].flat<float>(), ElementsAre(1, 2, 3, 4, 7, 8));
  EXPECT_THAT((*out)[4].flat<int64_t>(), ElementsAre(0, 3, 3));
  EXPECT_THAT((*out)[5].flat<int32_t>(), ElementsAre(0, 2, 3));
  EXPECT_THAT((*out)[6].flat<int64_t>(), ElementsAre(0, 1, 1, 3));
  EXPECT_THAT((*out)[7].flat<int32_t>(), ElementsAre(0, 2, 4, 6));
  const auto single = parse(Tensor::Scalar(kFirst));
  ASSERT_TRUE(single.ok()) << single.status().ToString();
  EXPECT_EQ((*single)[4].shape(), Shape{0});
  EXPECT_THAT((*single)[6].flat<int64_t>(), ElementsAre(0, 1, 1, 3));
}

}  // namespace
}  // namespace thalweg
