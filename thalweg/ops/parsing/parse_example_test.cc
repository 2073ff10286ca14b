// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "thalweg/io/test_example_bytes.h"
#include "thalweg/testing/op_case.h"

namespace thalweg {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A node of one of the operations, in words.
struct Asked {
  std::vector<std::string> sparse, dense, ragged, names;
  std::vector<DType> sparse_types, ragged_types, split_types;
  std::vector<Tensor> defaults;
  std::vector<PartialShape> shapes;
};

std::vector<DType> TypesOf(const std::vector<Tensor>& tensors) {
  std::vector<DType> types;
  for (const Tensor& tensor : tensors) types.push_back(tensor.dtype());
  return types;
}
Tensor Keys(const std::vector<std::string>& keys) {
  return Tensor::Of<std::string>(keys, Shape{static_cast<int64_t>(keys.size())});
}

Result<std::vector<Tensor>> Parse(const std::vector<std::string>& texts, const Asked& asked) {
  std::vector<Tensor> inputs = {Keys(texts), Keys(asked.names)};
  for (const auto* keys : {&asked.sparse, &asked.dense}) {
    for (const std::string& key : *keys) inputs.push_back(Tensor::Scalar(key));
  }
  inputs.insert(inputs.end(), asked.defaults.begin(), asked.defaults.end());
  return RunOp("ParseExample", inputs,
               {{"Nsparse", static_cast<int64_t>(asked.sparse.size())},
                {"Ndense", static_cast<int64_t>(asked.dense.size())},
                {"sparse_types", asked.sparse_types},
                {"Tdense", TypesOf(asked.defaults)},
                {"dense_shapes", asked.shapes}});
}
Result<std::vector<Tensor>> ParseV2(const Tensor& texts, const Asked& asked) {
  std::vector<Tensor> inputs = {texts, Keys(asked.names), Keys(asked.sparse), Keys(asked.dense),
                                Keys(asked.ragged)};
  inputs.insert(inputs.end(), asked.defaults.begin(), asked.defaults.end());
  return RunOp("ParseExampleV2", inputs,
               {{"num_sparse", static_cast<int64_t>(asked.sparse_types.size())},
                {"sparse_types", asked.sparse_types},
                {"ragged_value_types", asked.ragged_types},
                {"ragged_split_types", asked.split_types},
                {"Tdense", TypesOf(asked.defaults)},
                {"dense_shapes", asked.shapes}});
}
Result<std::vector<Tensor>> ParseSingle(const Tensor& text, const Asked& asked) {
  std::vector<Tensor> inputs = {text};
  inputs.insert(inputs.end(), asked.defaults.begin(), asked.defaults.end());
  return RunOp("ParseSingleExample", inputs,
               {{"num_sparse", static_cast<int64_t>(asked.sparse.size())},
                {"sparse_keys", asked.sparse},
                {"dense_keys", asked.dense},
                {"sparse_types", asked.sparse_types},
                {"Tdense", TypesOf(asked.defaults)},
                {"dense_shapes", asked.shapes}});
}

std::string ExampleError(const Result<std::vector<Tensor>>& result) {
  EXPECT_EQ(result.status().code(), Code::kInvalidArgument) << result.status().ToString();
  return std::string(result.status().message());
}

const Tensor kNoFloats = Tensor::Vector<float>({});

const Asked kDense{.dense = {"a"}, .defaults = {kNoFloats}, .shapes = {{2}}};
const Asked kSparse{.sparse = {"a"}, .sparse_types = {DType::kFloat}};

TEST(ParseExampleTest, DenseValuesAndDefaults) {
  const Asked asked{.dense = {"a", "b", "s"},
                    .defaults = {Tensor::Vector<float>({9, 8}), Tensor::Scalar(int64_t{7}),
                                 Tensor::Scalar("a text longer than a word")},
                    .shapes = {{2}, PartialShape(Shape()), PartialShape(Shape())}};
  const auto out =
      Parse({ExampleBytes({{"a", Floats({1, 2})}, {"b", Ints({-5})}, {"s", BytesList({"x"})}}),
             ExampleBytes({{"a", ""}, {"c", Ints({1})}})},
            asked);
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  EXPECT_EQ((*out)[0].shape(), (Shape{2, 2}));
  EXPECT_THAT((*out)[0].flat<float>(), ElementsAre(1, 2, 9, 8));
  EXPECT_THAT((*out)[1].flat<int64_t>(), ElementsAre(-5, 7));
  EXPECT_THAT((*out)[2].flat<std::string>(), ElementsAre("x", "a text longer than a word"));
}

TEST(ParseExampleTest, RowsOfVariableLengthArePadded) {
  const Asked asked{.dense = {"a", "s"},
                    .defaults = {Tensor::Vector<float>({7}), Tensor::Scalar("pad")},
                    .shapes = {{-1, 2}, {-1}}};
  const auto out = Parse({ExampleBytes({{"a", Floats({1, 2})}}),
                          ExampleBytes({{"a", Floats({1, 2, 3, 4})}, {"s", BytesList({"t"})}}), ""},
                         asked);
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  EXPECT_EQ((*out)[0].shape(), (Shape{3, 2, 2}));
  EXPECT_THAT((*out)[0].flat<float>(), ElementsAre(1, 2, 7, 7, 1, 2, 3, 4, 7, 7, 7, 7));
  EXPECT_EQ((*out)[1].shape(), (Shape{3, 1}));
  EXPECT_THAT((*out)[1].flat<std::string>(), ElementsAre("pad", "t", "pad"));
}

TEST(ParseExampleTest, SparseValues) {
  const auto out = Parse(
      {ExampleBytes({{"a", Floats({1, 2})}}), ExampleBytes({{"a", Floats({3})}}), ""}, kSparse);
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  EXPECT_EQ((*out)[0].shape(), (Shape{3, 2}));
  EXPECT_THAT((*out)[0].flat<int64_t>(), ElementsAre(0, 0, 0, 1, 1, 0));
  EXPECT_THAT((*out)[1].flat<float>(), ElementsAre(1, 2, 3));
  EXPECT_THAT((*out)[2].flat<int64_t>(), ElementsAre(3, 2));
}

TEST(ParseExampleTest, ManyExamplesKeepTheirPlaces) {
  std::vector<std::string> texts;
  for (int i = 0; i < 500; ++i) {
    texts.push_back(ExampleBytes({{"n", Ints(std::vector<int64_t>(static_cast<size_t>(i % 7), i))},
                                  {"a", Floats({static_cast<float>(i), 1})}}));
  }
  Asked asked = kDense;
  asked.sparse = {"n"};
  asked.sparse_types = {DType::kInt64};
  const auto out = Parse(texts, asked);
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  int64_t at = 0;
  for (int64_t i = 0; i < 500; ++i) {
    ASSERT_EQ((*out)[3].data<float>()[2 * i], static_cast<float>(i));
    for (int64_t k = 0; k < i % 7; ++k, ++at) {
      ASSERT_EQ((*out)[1].data<int64_t>()[at], i);
      ASSERT_EQ((*out)[0].data<int64_t>()[2 * at], i);
      ASSERT_EQ((*out)[0].data<int64_t>()[2 * at + 1], k);
    }
  }
  EXPECT_EQ((*out)[1].num_elements(), at);
}

TEST(ParseExampleTest, NoExamples) {
  Asked asked = kDense;
  asked.dense.push_back("v");
  asked.defaults.push_back(Tensor::Scalar(0.0f));
  asked.shapes.push_back({-1});
  asked.sparse = {"s"};
  asked.sparse_types = {DType::kString};
  const auto out = Parse({}, asked);
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  EXPECT_EQ((*out)[0].shape(), (Shape{0, 2}));
  EXPECT_THAT((*out)[2].flat<int64_t>(), ElementsAre(0, 0));
  EXPECT_EQ((*out)[3].shape(), (Shape{0, 2}));
  EXPECT_EQ((*out)[4].shape(), (Shape{0, 0}));
}

TEST(ParseExampleTest, ErrorsNameExampleAndKey) {
  const std::string good = ExampleBytes({{"a", Floats({1, 2})}});
  Asked named = kDense;
  named.names = {"n0", "n1"};
  EXPECT_THAT(
      ExampleError(Parse({good, ""}, named)),
      HasSubstr("Name: n1, Feature: a (data type: float) is required but could not be found."));
  EXPECT_THAT(ExampleError(Parse({good, ExampleBytes({{"a", Ints({3})}})}, named)),
              HasSubstr("Name: n1, Key: a, Index: 1.  Data types don't match. Data type: int64 but "
                        "expected type: float"));
  EXPECT_THAT(ExampleError(Parse({ExampleBytes({{"a", Floats({3})}}), ""}, kDense)),
              HasSubstr("Name: <unknown>, Key: a, Index: 0.  Number of float values != expected.  "
                        "Values size: 1 but output shape: [2]"));
  EXPECT_THAT(
      ExampleError(Parse({ExampleBytes({{"a", BytesList({"x"})}})}, kSparse)),
      HasSubstr("Index: 0.  Data types don't match. Expected type: float, Actual type: string"));
  EXPECT_THAT(
      ExampleError(Parse({good, "hello world\xff"}, kSparse)),
      HasSubstr("Could not parse example input, value: 'hello world\\xff' (example 1 of 2)"));
  EXPECT_THAT(ExampleError(Parse({ExampleBytes({{"a", Field(2, Field(1, "abc"))}})}, kSparse)),
              HasSubstr("Key: a, Index: 0.  Can't parse serialized Example"));
  named.names = {"n0"};
  EXPECT_THAT(ExampleError(Parse({good, good}, named)),
              HasSubstr("Expected names have the same shape as serialized"));
}

TEST(ParseExampleTest, DefaultsMustFit) {
  Asked asked = kDense;
  asked.defaults = {Tensor::Vector<float>({9})};
  EXPECT_THAT(
      ExampleError(Parse({""}, asked)),
      HasSubstr("def_value[0].shape() == [1] is not compatible with dense_shapes_[0] == [2]"));
  asked.shapes = {{-1}};
  asked.defaults = {kNoFloats};
  EXPECT_THAT(ExampleError(Parse({""}, asked)), HasSubstr("must contain a single element"));
  asked.shapes = {{2, -1}};
  EXPECT_THAT(ExampleError(Parse({""}, asked)), HasSubstr("unknown inner dimensions: [2,?]"));
  asked.shapes = {{-1, 0}};
  asked.defaults = {Tensor::Scalar(1.0f)};
  EXPECT_THAT(
      ExampleError(Parse({ExampleBytes({{"a", Floats({1})}})}, asked)),
      HasSubstr("not a multiple of stride length. Saw 1 values but output shape is: [?,0]"));
  EXPECT_TRUE(Parse({ExampleBytes({{"a", Floats({})}})}, asked).ok());
}

TEST(ParseExampleTest, Ragged) {
  const Asked asked{.ragged = {"a", "s"},
                    .ragged_types = {DType::kFloat, DType::kString},
                    .split_types = {DType::kInt64, DType::kInt32}};
  const std::string one = ExampleBytes({{"a", Floats({1, 2})}, {"s", BytesList({"x"})}});
  const auto out = ParseV2(Keys({one, "", one}), asked);
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  EXPECT_THAT((*out)[0].flat<float>(), ElementsAre(1, 2, 1, 2));
  EXPECT_THAT((*out)[1].flat<std::string>(), ElementsAre("x", "x"));
  EXPECT_THAT((*out)[2].flat<int64_t>(), ElementsAre(0, 2, 2, 4));
  EXPECT_THAT((*out)[3].flat<int32_t>(), ElementsAre(0, 1, 1, 2));
  const auto single = ParseV2(Tensor::Scalar(one), asked);
  ASSERT_TRUE(single.ok());
  EXPECT_THAT((*single)[0].flat<float>(), ElementsAre(1, 2));
  EXPECT_EQ((*single)[2].shape(), Shape{0});
  Asked wrong = asked;
  wrong.ragged = {"a"};
  EXPECT_THAT(ExampleError(ParseV2(Keys({one}), wrong)),
              HasSubstr("len(ragged_keys) == num_ragged"));
}

TEST(ParseExampleTest, Single) {
  Asked asked = kDense;
  asked.sparse = {"s"};
  asked.sparse_types = {DType::kString};
  const std::string text = ExampleBytes({{"a", Floats({1, 2})}, {"s", BytesList({"x", "y"})}});
  for (const auto& out :
       {ParseSingle(Tensor::Scalar(text), asked), ParseV2(Tensor::Scalar(text), asked)}) {
    ASSERT_TRUE(out.ok()) << out.status().ToString();
    EXPECT_EQ((*out)[0].shape(), (Shape{2, 1}));
    EXPECT_THAT((*out)[1].flat<std::string>(), ElementsAre("x", "y"));
    EXPECT_THAT((*out)[2].flat<int64_t>(), ElementsAre(2));
    EXPECT_THAT((*out)[3].flat<float>(), ElementsAre(1, 2));
  }
  EXPECT_THAT(ExampleError(ParseSingle(Tensor::Scalar(""), asked)),
              HasSubstr("Feature: a (data type: float) is required"));
  EXPECT_THAT(ExampleError(ParseSingle(Tensor::Scalar(ExampleBytes({{"a", Floats({1})}})), asked)),
              HasSubstr("Key: a.  Can't parse serialized Example"));
  EXPECT_THAT(ExampleError(ParseSingle(Keys({text}), asked)), HasSubstr("rank"));
}

}  // namespace
}  // namespace thalweg
