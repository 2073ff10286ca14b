// SPDX-License-Identifier: Apache-2.0
#include "thalweg/passes/join_loop_products.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thalweg/passes/test_pass.h"
#include "thalweg/testing/registries.h"

namespace thalweg {
namespace {

using ::testing::Contains;
using ::testing::Not;

class JoinLoopProductsTest : public PassTest {
 protected:
  JoinLoopProductsTest() : PassTest(AllRegistries().ops) {}
  Output Matrix(int64_t rows, int64_t cols) { return Placeholder("", PartialShape{rows, cols}); }
  Output Enter(const Output& value, bool is_constant) {
    return b.Op("Enter", {value},
                {{"frame_name", std::string("loop")},
                 {"is_constant", is_constant},
                 {"parallel_iterations", int64_t{7}}});
  }
  // A loop that adds a term to `initial` in each iteration; its condition is a constant.
  void Loop(const Output& initial, const Output& term, const char* op = "AddV2") {
    enter = Enter(initial, false);
    merge = b.Op("Merge", {enter, Output()});
    const Output condition =
        b.Op("LoopCond",
             {Enter(b.Op("Placeholder", {}, {{"dtype", DType::kBool}, {"shape", Shape()}}), true)});
    Node* const parts = b.OpNode("Switch", {merge, condition});
    add = std::string(op) == "AddN" ? b.Op(op, {term, {parts, 1}}) : b.Op(op, {{parts, 1}, term});
    const Output next = b.Op("NextIteration", {add});
    EXPECT_TRUE(graph->SetBackEdge(merge.node, 1, next).ok());
    exit = b.Op("Exit", {{parts, 0}}, {}, "exit");
  }
  Output Product(int64_t k = 20, int64_t m = 300, int64_t n = 200) {
    return b.Op("MatMul", {Enter(Matrix(k, m), true), Enter(Matrix(k, n), true)},
                {{"transpose_a", true}});
  }
  std::vector<std::string> Ops(const std::vector<Output>& fetches) {
    return Made(JoinLoopProducts(Step(fetches)));
  }
  bool Joins(const std::vector<Output>& fetches) {
    const std::vector<std::string> ops = Ops(fetches);
    return std::find(ops.begin(), ops.end(), "_AddProduct") != ops.end();
  }

  Output enter, merge, add, exit;
};

TEST_F(JoinLoopProductsTest, ALoopThatAddsProductsCarriesASum) {
  const Output product = Product();
  Loop(Matrix(300, 200), product);
  EXPECT_THAT(Ops({exit}), Not(Contains("MatMul")));
  const Node& end = *result.fetches[0].node;
  EXPECT_EQ(end.op_name(), "_EndProducts");
  EXPECT_EQ(end.name(), "exit");
  EXPECT_EQ(result.Origin(end), exit.node);
  EXPECT_EQ(end.output_shape(0), (PartialShape{300, 200}));
  const Node& parts = *end.input(0).node->input(0).node;
  const Node& joined = *parts.input(0).node;
  const Node& more = *joined.input(1).node->input(0).node;
  EXPECT_EQ(more.op_name(), "_AddProduct");
  EXPECT_EQ(more.input(0), (Output{const_cast<Node*>(&parts), 1}));
  EXPECT_TRUE(*more.Attr<bool>("transpose_a"));
  EXPECT_FALSE(*more.Attr<bool>("transpose_b"));
  EXPECT_NE(more.Attr<std::string>("_fused_from")->find(product.node->name()), std::string::npos);
  const Node& entered = *joined.input(0).node;
  EXPECT_EQ(*entered.Attr<int64_t>("parallel_iterations"), 7);
  EXPECT_EQ(entered.input(0).node->op_name(), "_StartProducts");
}

TEST_F(JoinLoopProductsTest, AdditionsOfAllKinds) {
  for (const char* op : {"Add", "AddV2", "AddN"}) {
    Loop(Matrix(300, 200), Product(), op);
    EXPECT_TRUE(Joins({exit})) << op;
  }
}

TEST_F(JoinLoopProductsTest, UnknownDepthIsAsGoodAsAny) {
  Loop(Matrix(300, 200), Product(-1));
  EXPECT_TRUE(Joins({exit}));
}

TEST_F(JoinLoopProductsTest, WhatOthersSeeStays) {
  const Output product = Product();
  Loop(Matrix(300, 200), product);
  EXPECT_TRUE(Joins({exit}));
  EXPECT_FALSE(Joins({exit, b.Op("Exit", {product})})) << "the product of the last iteration";
  EXPECT_FALSE(Joins({exit, b.Op("Exit", {b.Op("Neg", {merge})})})) << "the sum on its way";
  const Output first = Enter(Matrix(300, 200), false);
  EXPECT_FALSE(Joins({exit, b.WithControls({add.node}).Op("Identity", {first})}));
}

TEST_F(JoinLoopProductsTest, OtherSumsStay) {
  Loop(Matrix(300, 200), Enter(Matrix(300, 200), true));
  EXPECT_FALSE(Joins({exit})) << "no product";
  Loop(Matrix(300, 200), Product(), "Sub");
  EXPECT_FALSE(Joins({exit}));
  Loop(Matrix(1, 200), Product());
  EXPECT_FALSE(Joins({exit})) << "broadcast";
  Loop(Matrix(20, 20), Product(5, 20, 20));
  EXPECT_FALSE(Joins({exit})) << "small";
  Loop(Matrix(300, -1), Product(20, 300, -1));
  EXPECT_FALSE(Joins({exit})) << "of unknown size";
}

TEST_F(JoinLoopProductsTest, WaitsForWhatItsPartsWaitedFor) {
  const Output early = Enter(Matrix(2, 2), true), late = Enter(Matrix(2, 2), true);
  GraphBuilder plain = b;
  b = plain.WithControls({early.node});
  const Output product = Product();
  b = plain;
  Loop(Matrix(300, 200), product);
  ASSERT_TRUE(graph->AddControlInput(add.node, late.node).ok());
  ASSERT_TRUE(Joins({exit}));
  const Node& merged = *result.fetches[0].node->input(0).node->input(0).node->input(0).node;
  EXPECT_EQ(merged.input(1).node->input(0).node->control_inputs().size(), 2u);
}

}  // namespace
}  // namespace thalweg
