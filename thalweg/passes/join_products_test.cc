// SPDX-License-Identifier: Apache-2.0
#include "thalweg/passes/join_products.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thalweg/passes/test_pass.h"

namespace thalweg {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

class JoinProductsTest : public PassTest {
 protected:
  JoinProductsTest() { Define({"Placeholder"}, ShapeFromAttr); }
  Output Matrix(int64_t rows, int64_t cols) { return Placeholder("", PartialShape{rows, cols}); }
  // A gradient of a weight of 300 x 200: few rows each.
  Output Product(int64_t k, bool transpose_b = false) {
    return b.Op("MatMul", {Matrix(k, 300), transpose_b ? Matrix(200, k) : Matrix(k, 200)},
                {{"transpose_a", true}, {"transpose_b", transpose_b}});
  }
  std::vector<std::string> Ops(std::vector<Output> fetches) {
    return Made(JoinProducts(Step(std::move(fetches))));
  }
};

TEST_F(JoinProductsTest, ASumOfProductsBecomesOneOfTheOperandsSideBySide) {
  const Output sum = b.Op("AddN", {Product(4), Product(5), Product(6)}, {}, "sum");
  EXPECT_THAT(Ops({sum}), ElementsAre("ConcatV2", "ConcatV2", "MatMul"));
  const Node& product = *result.fetches[0].node;
  EXPECT_EQ(product.name(), "sum");
  EXPECT_EQ(result.Origin(product), sum.node);
  EXPECT_TRUE(*product.Attr<bool>("transpose_a"));
  EXPECT_FALSE(*product.Attr<bool>("transpose_b"));
  for (int operand : {0, 1}) {
    const Node& concat = *product.input(operand).node;
    ASSERT_EQ(concat.num_inputs(), 4);
    EXPECT_EQ(*concat.input(3).node->Attr<Tensor>("value")->data<int32_t>(), 0);
    for (int i : {0, 1, 2}) EXPECT_EQ(concat.input(i).shape().dim(0), 4 + i);
  }
}

TEST_F(JoinProductsTest, TheDepthOfATransposedOperandIsItsOtherDimension) {
  const Output sum = b.Op("AddN", {Product(4, true), Product(5, true)}, {}, "sum");
  Ops({sum});
  const Node& product = *result.fetches[0].node;
  EXPECT_EQ(*product.input(0).node->input(2).node->Attr<Tensor>("value")->data<int32_t>(), 0);
  EXPECT_EQ(*product.input(1).node->input(2).node->Attr<Tensor>("value")->data<int32_t>(), 1);
}

TEST_F(JoinProductsTest, OtherTermsStay) {
  const Output other = Matrix(300, 200);
  const Output sum = b.Op("AddN", {Product(4), other, Product(4), Product(4, true)}, {}, "sum");
  EXPECT_THAT(Ops({sum}), UnorderedElementsAre("MatMul", "ConcatV2", "ConcatV2", "MatMul", "AddN"));
  EXPECT_EQ(result.fetches[0].node->name(), "sum");
  EXPECT_EQ(result.fetches[0].node->num_inputs(), 3);
}

TEST_F(JoinProductsTest, WhatOthersSeeAndWhatDoesNotPayStays) {
  const Output seen = Product(4);
  const Output sum = b.Op("AddN", {seen, Product(4)}, {}, "sum");
  EXPECT_THAT(Ops({sum, seen}), UnorderedElementsAre("MatMul", "MatMul", "AddN"));
  const Output deep = b.Op("AddN", {Product(300), Product(300)}, {}, "deep");
  EXPECT_THAT(Ops({deep}), UnorderedElementsAre("MatMul", "MatMul", "AddN"));
  const Output unknown = b.Op("AddN", {Product(-1), Product(-1)}, {}, "unknown");
  EXPECT_THAT(Ops({unknown}), UnorderedElementsAre("MatMul", "MatMul", "AddN"));
  EXPECT_THAT(Ops({sum}), ElementsAre("ConcatV2", "ConcatV2", "MatMul"));
}

TEST_F(JoinProductsTest, WaitsForWhatAnyPartWaitedFor) {
  Node* first = b.OpNode("NoOp", {}, {}, "first");
  Node* second = b.OpNode("NoOp", {}, {}, "second");
  const Output product = b.WithControls({first}).Op("MatMul", {Matrix(300, 4), Matrix(4, 200)});
  const Output plain = b.Op("MatMul", {Matrix(300, 4), Matrix(4, 200)});
  const Output sum = b.WithControls({first, second}).Op("AddN", {product, plain}, {}, "sum");
  Ops({sum});
  EXPECT_EQ(result.fetches[0].node->op_name(), "MatMul");
  EXPECT_EQ(result.fetches[0].node->control_inputs().size(), 2u);
}

}  // namespace
}  // namespace thalweg
