// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/gradient_context.h"

#include <gtest/gtest.h>

#include "thalweg/graph/graph_text.h"

namespace thalweg {
namespace {

class GradientContextTest : public ::testing::Test {
 protected:
  GradientContextTest() {
    x_ = b_.Op("Placeholder", {}, {{"dtype", DType::kFloat}}, "x");
    y_ = b_.OpNode("Unique", {x_}, {}, "y");  // two outputs
  }
  ~GradientContextTest() override { EXPECT_TRUE(b_.ok()) << b_.status().ToString(); }
  // The nodes from `first` on.
  std::string TextFrom(int first) {
    std::string text;
    const std::vector<Node*> nodes = graph_.Nodes();
    for (size_t i = static_cast<size_t>(first); i < nodes.size(); ++i) {
      text.append(NodeText(*nodes[i], {.shapes = false})).append("\n");
    }
    return text;
  }

  Graph graph_{std::make_shared<OpRegistry>()};
  GraphBuilder b_{&graph_};
  Output x_;
  Node* y_ = nullptr;
};

TEST_F(GradientContextTest, AMissingGradientIsZerosMadeOnce) {
  GradientContext c(*y_, b_, {{x_, {}, {}}, {}});
  EXPECT_TRUE(c.has_grad(0));
  EXPECT_FALSE(c.has_grad(1));
  EXPECT_EQ(c.grad(0), x_);
  const int before = graph_.num_nodes();
  const Output zeros = c.grad(1);
  EXPECT_EQ(c.grad(1), zeros);
  EXPECT_EQ(TextFrom(before), "ZerosLike:0 int32 = ZerosLike(y:1)\n");
}

TEST_F(GradientContextTest, ASparseGradientIsMadeDense) {
  const Output indices = b_.Const(std::vector<int64_t>{2, 0}, "i");
  const Output shape = b_.Const(std::vector<int64_t>{5}, "shape");
  const GradientValue sparse = {x_, indices, shape};
  GradientContext c(*y_, b_, {sparse, {}});
  EXPECT_TRUE(c.grad_value(0).is_sparse());
  const int before = graph_.num_nodes();
  const Output dense = c.grad(0);
  EXPECT_EQ(c.grad(0), dense);
  EXPECT_EQ(TextFrom(before),
            "Const:0 int32 = Const() {value: int32[1] 0}\n"
            "Const_1:0 int32 = Const() {value: int32[1] 1}\n"
            "rows:0 int64 = StridedSlice(shape, Const, Const_1, Const_1) {shrink_axis_mask: 1}\n"
            "UnsortedSegmentSum:0 float32 = UnsortedSegmentSum(x, i, rows)\n");
  EXPECT_EQ(Densify(b_, {x_, {}, {}}), x_);
}

TEST_F(GradientContextTest, TheShapeOfASparseGradientIsTheOutputsWhenNobodySaid) {
  const Output indices = b_.Const(std::vector<int64_t>{2, 0}, "i");
  GradientContext c(*y_, b_, {{x_, indices, {}}, {}});
  const int before = graph_.num_nodes();
  ASSERT_NE(c.grad(0).node, nullptr);
  EXPECT_TRUE(TextFrom(before).starts_with("Shape:0 int32 = Shape(y)\n"));
}

TEST_F(GradientContextTest, ASparseGradientOfUnknownShapeIsAnError) {
  GraphBuilder b(&graph_);
  EXPECT_EQ(Densify(b, {x_, x_, {}}).node, nullptr);
  EXPECT_EQ(b.status().message(),
            "sparse gradient 'x' cannot be made dense: its dense shape is not known");
  GraphBuilder c(&graph_);
  EXPECT_EQ(Densify(c, {x_, x_, x_}).node, nullptr);
  EXPECT_EQ(c.status().message(),
            "the dense shape of a sparse gradient must be int32 or int64, got float32");
}

TEST_F(GradientContextTest, InputGradientsAreKept) {
  GradientContext c(*y_, b_, {{}, {}});
  EXPECT_FALSE(c.input_grads()[0].present());
  c.set_input_grad(0, x_);
  EXPECT_EQ(c.input_grads()[0].values, x_);
  EXPECT_EQ(c.input(0), x_);
  EXPECT_EQ(c.output(1), (Output{y_, 1}));
}

}  // namespace
}  // namespace thalweg
