// SPDX-License-Identifier: Apache-2.0
#include "thalweg/passes/fold_batch_norm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thalweg/passes/test_pass.h"

namespace thalweg {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatEq;
using ::testing::Pointwise;

class FoldBatchNormTest : public PassTest {
 protected:
  FoldBatchNormTest() {
    Define({"Add", "AddV2", "BiasAdd", "Const", "Conv2D", "DepthwiseConv2dNative",
            "FusedBatchNormV3", "MatMul", "Mul", "Placeholder", "Relu", "Sub"},
           UnknownShape);
    x = Placeholder("x");
  }
  Output Constant(const std::vector<float>& values, const Shape& shape) {
    const Tensor value = Tensor::Of<float>(values, shape);
    return b.Op("Const", {}, {{"dtype", DType::kFloat}, {"value", value}});
  }
  Output Vector(const std::vector<float>& values) {
    return Constant(values, Shape{static_cast<int64_t>(values.size())});
  }
  Output Conv(const std::vector<float>& weights, const Shape& shape,
              const std::string& format = "NHWC", const char* op = "Conv2D") {
    return b.Op(op, {x, Constant(weights, shape)},
                {{"strides", std::vector<int64_t>{1, 1, 1, 1}},
                 {"padding", "SAME"},
                 {"data_format", format}},
                "layer");
  }
  // scale 4, 6; offset 1, 2; mean 10, 20; variance such that the root is 2.
  Node* Norm(Output value, const std::string& format = "NHWC", bool training = false) {
    return b.OpNode(
        "FusedBatchNormV3",
        {value, Vector({4, 6}), Vector({1, 2}), Vector({10, 20}), Vector({3.75f, 3.75f})},
        {{"is_training", training}, {"epsilon", 0.25f}, {"data_format", format}}, "norm");
  }
  std::vector<std::string> Ops(std::vector<Output> fetches) {
    return Made(FoldBatchNorms(Step(std::move(fetches))));
  }
  static std::vector<float> Value(const Output& constant) {
    const Result<Tensor> value = constant.node->Attr<Tensor>("value");
    EXPECT_TRUE(value.ok()) << value.status().ToString();
    const auto flat = value->flat<float>();
    return {flat.begin(), flat.end()};
  }
  // What the layer behind the last fetch has; `bias` is that of the BiasAdd behind it.
  void ExpectFolded(const std::vector<float>& weights, const std::vector<float>& bias) {
    const Node& last = *result.fetches.back().node;
    ASSERT_EQ(last.op_name(), "BiasAdd");
    EXPECT_THAT(Value(last.input(1)), Pointwise(FloatEq(), bias));
    EXPECT_THAT(Value(last.input(0).node->input(1)), Pointwise(FloatEq(), weights));
  }

  Output x;
};

TEST_F(FoldBatchNormTest, AConvolutionTakesTheNormalizationBehindIt) {
  const Output y = {Norm(Conv({1, 2, 3, 4}, Shape{1, 1, 2, 2})), 0};
  EXPECT_THAT(Ops({y}), ElementsAre("Conv2D", "BiasAdd"));
  ExpectFolded({2, 6, 6, 12}, {1 - 20, 2 - 60});
  EXPECT_EQ(result.fetches[0].node->name(), "norm");
  EXPECT_EQ(result.fetches[0].node->input(0).node->name(), "layer/folded");
}

TEST_F(FoldBatchNormTest, ABiasBetweenTheTwoIsScaledToo) {
  for (const char* op : {"BiasAdd", "AddV2"}) {
    const Output biased = b.Op(op, {Conv({1, 2, 3, 4}, Shape{1, 1, 2, 2}), Vector({5, 7})});
    EXPECT_THAT(Ops({{Norm(biased), 0}}), ElementsAre("Conv2D", "BiasAdd")) << op;
    ExpectFolded({2, 6, 6, 12}, {5 * 2 - 19, 7 * 3 - 58});
  }
}

TEST_F(FoldBatchNormTest, ChannelsFirst) {
  EXPECT_THAT(Ops({{Norm(Conv({1, 2, 3, 4}, Shape{1, 1, 2, 2}, "NCHW"), "NCHW"), 0}}),
              ElementsAre("Conv2D", "BiasAdd"));
  ExpectFolded({2, 6, 6, 12}, {-19, -58});
  EXPECT_EQ(*result.fetches[0].node->Attr<std::string>("data_format"), "NCHW");
  EXPECT_THAT(Ops({{Norm(Conv({1, 2, 3, 4}, Shape{1, 1, 2, 2}, "NCHW")), 0}}),
              ElementsAre("Conv2D", "FusedBatchNormV3"));
}

TEST_F(FoldBatchNormTest, ADepthwiseConvolutionHasAChannelForEachPair) {
  const Output y = Conv({1, 2, 3, 4}, Shape{2, 1, 1, 2}, "NHWC", "DepthwiseConv2dNative");
  EXPECT_THAT(Ops({{Norm(y), 0}}), ElementsAre("DepthwiseConv2dNative", "BiasAdd"));
  ExpectFolded({2, 6, 6, 12}, {-19, -58});
}

TEST_F(FoldBatchNormTest, ADenseLayerTakesProductsAndSums) {
  for (const bool transposed : {false, true}) {
    const Output product = b.Op("MatMul", {x, Constant({1, 2, 3, 4}, Shape{2, 2})},
                                {{"transpose_b", transposed}}, "dense");
    const Output scaled = b.Op("Mul", {product, Vector({10, 100})});
    EXPECT_THAT(Ops({b.Op("AddV2", {Constant({5, 6}, Shape{1, 2}), scaled})}),
                ElementsAre("MatMul", "BiasAdd"));
    ExpectFolded(
        transposed ? std::vector<float>{10, 20, 300, 400} : std::vector<float>{10, 200, 30, 400},
        {5, 6});
    EXPECT_THAT(Ops({b.Op("Sub", {scaled, Vector({5, 6})})}), ElementsAre("MatMul", "BiasAdd"));
    EXPECT_THAT(Value(result.fetches[0].node->input(1)), ElementsAre(-5, -6));
    EXPECT_THAT(Ops({scaled}), ElementsAre("MatMul"));
  }
}

TEST_F(FoldBatchNormTest, WhatOthersReadOrTrainsStays) {
  const Output conv = Conv({1, 2, 3, 4}, Shape{1, 1, 2, 2});
  Node* const norm = Norm(conv);
  EXPECT_THAT(Ops({conv, {norm, 0}}), ElementsAre("Conv2D", "FusedBatchNormV3"));
  EXPECT_THAT(Ops({{norm, 0}, {norm, 1}}), ElementsAre("Conv2D", "FusedBatchNormV3"));
  EXPECT_THAT(Ops({{Norm(conv, "NHWC", true), 0}}), ElementsAre("Conv2D", "FusedBatchNormV3"));
  const Output relu = b.Op("Relu", {conv});
  EXPECT_THAT(Ops({{Norm(relu), 0}}), ElementsAre("Conv2D", "Relu", "FusedBatchNormV3"));
  // One number for each column of the image, not for each channel.
  const Output wide = b.Op("Mul", {conv, Constant({1, 2}, Shape{2, 1})});
  EXPECT_THAT(Ops({wide}), ElementsAre("Conv2D", "Mul"));
}

}  // namespace
}  // namespace thalweg
