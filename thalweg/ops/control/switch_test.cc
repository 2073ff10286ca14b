// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/graph/graph_builder.h"
#include "thalweg/testing/kernel_call.h"

namespace thalweg {
namespace {

TEST(SwitchTest, TheUntakenOutputIsDead) {  // B3.4c
  const Tensor data = Tensor::Vector<float>({1, 2});
  for (bool pred : {false, true}) {
    KernelCall call("Switch", {data, Tensor::Scalar(pred)});
    ASSERT_TRUE(call.Run().ok());
    EXPECT_TRUE(call.output(pred ? 0 : 1).empty());
    EXPECT_TRUE(call.output(pred ? 1 : 0).SharesBufferWith(data));
  }
}

TEST(SwitchTest, RefusesAPredicateThatIsNoScalar) {
  KernelCall call("Switch", {Tensor::Scalar(1), Tensor::Vector<bool>({true})});
  EXPECT_EQ(call.Run().code(), Code::kInvalidArgument);
}

TEST(SwitchTest, BothOutputsHaveTheShapeOfTheData) {
  Graph graph(AllRegistries().ops);
  GraphBuilder b(&graph);
  const Output data =
      b.Op("Placeholder", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape{-1, 3}}});
  const Output pred = b.Op("Placeholder", {}, {{"dtype", DType::kBool}});
  Node* node = b.OpNode("Switch", {data, pred});
  ASSERT_TRUE(b.ok()) << b.status().ToString();
  EXPECT_EQ(node->output_shape(0), (PartialShape{-1, 3}));
  EXPECT_EQ(node->output_shape(1), (PartialShape{-1, 3}));
  EXPECT_EQ(node->control(), Node::Control::kSwitch);
}

}  // namespace
}  // namespace thalweg
