// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_costs.h"

#include <gtest/gtest.h>

#include "thalweg/graph/graph_builder.h"
#include "thalweg/graph/node_maker.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

class OpCostsTest : public ::testing::Test {
 protected:
  Output Value(const PartialShape& shape, DType dtype = DType::kFloat) {
    return b_.Op("Placeholder", {}, {{"dtype", dtype}, {"shape", shape}});
  }
  NodeCost Cost(std::string_view op, std::vector<Output> inputs, AttrMap attrs,
                const PartialShape& shape) {
    Node* const node = b_.OpNode(op, std::move(inputs), std::move(attrs));
    EXPECT_TRUE(b_.ok()) << b_.status().ToString();
    EXPECT_TRUE(NodeMaker::RefineShape({node, 0}, shape).ok());
    return CostOf(*node);
  }
  static std::shared_ptr<OpRegistry> Ops() {
    auto ops = std::make_shared<OpRegistry>();
    ops->Op("Placeholder").Shape([](ShapeContext& c) -> Status {
      ASSIGN_OR_RETURN(PartialShape shape, c.Attr<PartialShape>("shape"));
      c.set_output(0, std::move(shape));
      return OkStatus();
    });
    for (const char* op :
         {"AddN", "BatchMatMulV2", "Conv2D", "Conv2DBackpropFilter", "Conv2DBackpropInput",
          "DepthwiseConv2dNative", "Einsum", "LSTMBlockCell", "MatMul", "MaxPool", "Reshape",
          "Softmax", "Sum", "Tanh", "Unique"}) {
      ops->Op(op).Shape(UnknownShape);
    }
    return ops;
  }

  Graph graph_{Ops()};
  GraphBuilder b_{&graph_};
};

TEST_F(OpCostsTest, Products) {
  const Output a = Value({3, 4}), turned = Value({4, 3}), w = Value({4, 5});
  EXPECT_EQ(*Cost("MatMul", {a, w}, {}, {3, 5}).flops, 2 * 3 * 4 * 5);
  EXPECT_EQ(*Cost("MatMul", {turned, w}, {{"transpose_a", true}}, {3, 5}).flops, 2 * 3 * 4 * 5);
  EXPECT_EQ(*Cost("BatchMatMulV2", {Value({7, 3, 4}), Value({7, 4, 5})}, {}, {7, 3, 5}).flops,
            2 * 7 * 3 * 4 * 5);
  EXPECT_EQ(*Cost("Einsum", {a, w}, {{"equation", "ab, bc->ac"}}, {3, 5}).flops, 2 * 3 * 4 * 5);
  EXPECT_FALSE(Cost("Einsum", {a, w}, {{"equation", "...b,bc->...c"}}, {3, 5}).flops.has_value());
}

TEST_F(OpCostsTest, Convolutions) {
  const AttrMap attrs = {{"strides", std::vector<int64_t>{1, 1, 1, 1}}, {"padding", "SAME"}};
  const Output image = Value({2, 8, 8, 3}), filter = Value({5, 5, 3, 16}),
               made = Value({2, 8, 8, 16}), sizes = Value({4}, DType::kInt32);
  const double once = 2.0 * (2 * 8 * 8 * 16) * (5 * 5 * 3);
  EXPECT_EQ(*Cost("Conv2D", {image, filter}, attrs, {2, 8, 8, 16}).flops, once);
  EXPECT_EQ(*Cost("Conv2DBackpropInput", {sizes, filter, made}, attrs, {2, 8, 8, 3}).flops, once);
  EXPECT_EQ(*Cost("Conv2DBackpropFilter", {image, sizes, made}, attrs, {5, 5, 3, 16}).flops, once);
  EXPECT_EQ(*Cost("DepthwiseConv2dNative", {image, Value({5, 5, 3, 2})}, attrs, {2, 8, 8, 6}).flops,
            2.0 * (2 * 8 * 8 * 6) * (5 * 5));
  EXPECT_EQ(*Cost("MaxPool", {image},
                  {{"ksize", std::vector<int64_t>{1, 2, 2, 1}},
                   {"strides", std::vector<int64_t>{1, 2, 2, 1}},
                   {"padding", "SAME"}},
                  {2, 4, 4, 3})
                 .flops,
            2 * 4 * 4 * 3 * 4);
}

TEST_F(OpCostsTest, ElementsInputsAndRows) {
  const Output x = Value({3, 4});
  EXPECT_EQ(*Cost("Tanh", {x}, {}, {3, 4}).flops, 12);
  EXPECT_EQ(*Cost("Softmax", {x}, {}, {3, 4}).flops, 60);
  EXPECT_EQ(*Cost("AddN", {x, x, x}, {}, {3, 4}).flops, 24);
  EXPECT_EQ(*Cost("Sum", {x, Value({1}, DType::kInt32)}, {}, {4}).flops, 12);
  const Output state = Value({3, 5}), peephole = Value({5});
  EXPECT_EQ(*Cost("LSTMBlockCell",
                  {x, state, state, Value({9, 20}), peephole, peephole, peephole, Value({20})}, {},
                  {3, 5})
                 .flops,
            2 * 3 * 9 * 20);
}

TEST_F(OpCostsTest, WhatIsNotKnownIsNotGuessed) {
  const Output x = Value({-1, 4});
  const NodeCost open = Cost("Tanh", {x}, {}, {-1, 4});
  EXPECT_FALSE(open.flops.has_value());
  EXPECT_FALSE(open.bytes.has_value());
  EXPECT_FALSE(HasCost("Unique"));
  EXPECT_FALSE(Cost("Unique", {Value({4})}, {}, {4}).flops.has_value());
  const NodeCost moved = Cost("Reshape", {Value({3, 4}), Value({1}, DType::kInt32)}, {}, {12});
  EXPECT_EQ(*moved.flops, 0);
  EXPECT_EQ(*moved.bytes, 4 * (12 + 1 + 12));
}

}  // namespace
}  // namespace thalweg
