// SPDX-License-Identifier: Apache-2.0
#include "thalweg/passes/channels_last.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thalweg/passes/test_pass.h"

namespace thalweg {
namespace {

using ::testing::ElementsAre;
using List = std::vector<int64_t>;

Status Four(ShapeContext& c) {
  c.set_output(0, PartialShape::OfRank(4));
  return OkStatus();
}

class ChannelsLastTest : public PassTest {
 protected:
  ChannelsLastTest() {
    Define({"AddV2", "BiasAdd", "Identity", "Relu", "Transpose"}, UnchangedShape);
    Define({"Conv2D", "Conv2DBackpropInput", "MaxPool", "Enter"}, Four);
    Define({"Placeholder"}, ShapeFromAttr);
    x = Placeholder("x", PartialShape{2, 8, 5, 6});
  }
  Output Conv(Output image, std::string_view name, const char* format = "NCHW") {
    return b.Op("Conv2D", {image, Placeholder(StrCat(name, "_filter"), PartialShape{3, 3, 8, 8})},
                {{"strides", List{1, 1, 2, 3}},
                 {"padding", std::string("EXPLICIT")},
                 {"explicit_paddings", List{0, 0, 0, 0, 1, 2, 3, 4}},
                 {"data_format", std::string(format)}},
                name);
  }
  Output Pool(Output image, std::string_view name) {
    return b.Op("MaxPool", {image},
                {{"ksize", List{1, 1, 2, 3}},
                 {"strides", List{1, 1, 2, 3}},
                 {"padding", std::string("SAME")},
                 {"data_format", std::string("NCHW")}},
                name);
  }
  std::vector<std::string> Ops(std::vector<Output> fetches) {
    const StepGraph step = Step(std::move(fetches));
    before = step.graph;
    return Made(ChannelsLast(step));
  }
  List Numbers(const char* node, const char* attr) {
    return *result.graph->FindNode(node)->Attr<List>(attr);
  }
  List Order(const Node& transpose) {
    const Tensor value = *transpose.input(1).node->Attr<Tensor>("value");
    return {value.data<int32_t>(), value.data<int32_t>() + value.num_elements()};
  }

  std::shared_ptr<Graph> before;
  Output x;
};

TEST_F(ChannelsLastTest, TransposesStandAtTheBorderOnly) {
  const Output first = b.Op("Relu", {Conv(x, "c1")}, {}, "r");
  const Output y = Pool(b.Op("AddV2", {Conv(first, "c2"), first}, {}, "sum"), "p");
  EXPECT_THAT(Ops({y}), ElementsAre("Transpose", "Conv2D", "Relu", "Conv2D", "AddV2", "MaxPool",
                                    "Transpose"));
  EXPECT_EQ(Numbers("c1", "strides"), (List{1, 2, 3, 1}));
  EXPECT_EQ(Numbers("c1", "explicit_paddings"), (List{0, 0, 1, 2, 3, 4, 0, 0}));
  EXPECT_EQ(Numbers("p", "ksize"), (List{1, 2, 3, 1}));
  EXPECT_EQ(*result.graph->FindNode("c2")->Attr<std::string>("data_format"), "NHWC");
  const Node& last = *result.fetches[0].node;
  EXPECT_EQ(Order(last), (List{0, 3, 1, 2}));
  EXPECT_EQ(Order(*result.graph->FindNode("c1")->input(0).node), (List{0, 2, 3, 1}));
  EXPECT_EQ(result.Origin(*result.graph->FindNode("sum"))->name(), "sum");
}

TEST_F(ChannelsLastTest, AnImageIsTransposedOnceForAllItsReaders) {
  const Output y = Conv(x, "c1"), z = Conv(x, "c2");
  EXPECT_THAT(Ops({y, z}), ElementsAre("Transpose", "Conv2D", "Conv2D", "Transpose", "Transpose"));
  const Output identity = b.Op("Conv2D", {Conv(x, "c3"), y},
                               {{"strides", List{1, 1, 1, 1}},
                                {"padding", std::string("SAME")},
                                {"data_format", std::string("NHWC")}},
                               "last");
  // "last" reads both images in their own order: c3's by the border, y as a filter.
  EXPECT_THAT(Ops({identity, y}),
              ElementsAre("Transpose", "Conv2D", "Conv2D", "Transpose", "Transpose", "Conv2D"));
}

TEST_F(ChannelsLastTest, WhatHasNoConvolutionOrIsLastAlreadyStays) {
  Ops({Pool(b.Op("Relu", {x}), "p")});
  EXPECT_EQ(result.graph, before);
  Ops({Conv(x, "c1", "NHWC")});
  EXPECT_EQ(result.graph, before);
  Ops({Conv(Placeholder("unknown", PartialShape()), "c2")});
  EXPECT_EQ(result.graph, before);
}

TEST_F(ChannelsLastTest, OperandsOfOtherRanksKeepANodeOut) {
  const Output row = Placeholder("row", PartialShape{6}),
               scalar = Placeholder("s", PartialShape(Shape{}));
  EXPECT_THAT(Ops({b.Op("AddV2", {Conv(x, "c1"), row})}),
              ElementsAre("Transpose", "Conv2D", "Transpose", "AddV2"));
  EXPECT_THAT(Ops({b.Op("AddV2", {Conv(x, "c2"), scalar})}),
              ElementsAre("Transpose", "Conv2D", "AddV2", "Transpose"));
}

TEST_F(ChannelsLastTest, SizesOfImagesMoveToo) {
  const Output filter = Placeholder("f", PartialShape{3, 3, 8, 8});
  const AttrMap attrs = {{"strides", List{1, 1, 1, 1}},
                         {"padding", std::string("SAME")},
                         {"data_format", std::string("NCHW")}};
  const Output sizes = b.Const(Tensor::Vector<int32_t>({2, 8, 5, 6}));
  const Output y = b.Op("Conv2DBackpropInput", {sizes, filter, x}, attrs, "dx");
  EXPECT_THAT(Ops({y}), ElementsAre("Transpose", "Conv2DBackpropInput", "Transpose"));
  const Tensor moved = *result.graph->FindNode("dx")->input(0).node->Attr<Tensor>("value");
  EXPECT_EQ((List{moved.data<int32_t>(), moved.data<int32_t>() + 4}), (List{2, 5, 6, 8}));
  const Output fed =
      b.Op("Placeholder", {}, {{"dtype", DType::kInt32}, {"shape", PartialShape{4}}}, "sizes");
  const Output z = b.Op("Conv2DBackpropInput", {fed, filter, x}, attrs, "dx2");
  EXPECT_THAT(Ops({z}),
              ElementsAre("DataFormatVecPermute", "Transpose", "Conv2DBackpropInput", "Transpose"));
  EXPECT_THAT(Ops({b.Op("Shape", {Conv(x, "c")}, {}, "shape")}),
              ElementsAre("Transpose", "Conv2D", "Shape", "DataFormatVecPermute"));
}

}  // namespace
}  // namespace thalweg
