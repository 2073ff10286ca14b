// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/graph/graph_builder.h"
#include "thalweg/testing/kernel_call.h"

namespace thalweg {
namespace {

Output Input(GraphBuilder& b, PartialShape shape) {
  return b.Op("Placeholder", {}, {{"dtype", DType::kFloat}, {"shape", std::move(shape)}});
}

TEST(MergeTest, TakesTheLiveInputAndSaysWhich) {  // B3.4a
  KernelCall first("Merge", {Tensor::Scalar(1.5f), Tensor()}, {}, {DType::kFloat, DType::kFloat});
  ASSERT_TRUE(first.Run().ok());
  EXPECT_EQ(first.output(0).scalar<float>(), 1.5f);
  EXPECT_EQ(first.output(1).scalar<int32_t>(), 0);
  KernelCall second("Merge", {Tensor(), Tensor::Scalar(2.5f)}, {}, {DType::kFloat, DType::kFloat});
  ASSERT_TRUE(second.Run().ok());
  EXPECT_EQ(second.output(0).scalar<float>(), 2.5f);
  EXPECT_EQ(second.output(1).scalar<int32_t>(), 1);
}

TEST(MergeTest, IsDeadWhenAllInputsAre) {
  KernelCall call("Merge", {Tensor(), Tensor()}, {}, {DType::kFloat, DType::kFloat});
  ASSERT_TRUE(call.Run().ok());
  EXPECT_TRUE(call.output(0).empty());
  EXPECT_TRUE(call.output(1).empty());
}

TEST(MergeTest, InfersWhatAllInputsHaveInCommon) {
  Graph graph(AllRegistries().ops);
  GraphBuilder b(&graph);
  Node* same = b.OpNode("Merge", {Input(b, {2, 3}), Input(b, {2, 4})});
  Node* ranks = b.OpNode("Merge", {Input(b, {2, 3}), Input(b, {2})});
  Node* open = b.OpNode("Merge", {Input(b, {2, 3}), Output()});
  ASSERT_TRUE(b.ok()) << b.status().ToString();
  EXPECT_EQ(same->output_shape(0), (PartialShape{2, -1}));
  EXPECT_EQ(same->output_shape(1), PartialShape(Shape()));
  EXPECT_FALSE(ranks->output_shape(0).known_rank());
  EXPECT_FALSE(open->output_shape(0).known_rank());
  EXPECT_EQ(open->control(), Node::Control::kMerge);
}

}  // namespace
}  // namespace thalweg
