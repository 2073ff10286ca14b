// SPDX-License-Identifier: Apache-2.0
#include "thalweg/training/variable_nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thalweg/testing/registries.h"

namespace thalweg {
namespace {

using ::testing::HasSubstr;

class VariableNodesTest : public testing::Test {
 protected:
  Output Value() { return b_.Const(Tensor::Vector<float>({1, 2})); }
  static std::string Words(const Status& status) {
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << status.ToString();
    return std::string(status.message());
  }
  Graph graph_{AllRegistries().ops};
  GraphBuilder b_{&graph_};
};

TEST_F(VariableNodesTest, NodesHaveTensorFlowsNames) {
  const VariableNodes reference = *AddVariable(b_, "v", Value(), false);
  EXPECT_EQ(reference.handle.node->op_name(), "VariableV2");
  EXPECT_EQ(reference.initializer->name(), "v/Assign");
  EXPECT_EQ(reference.value.ToString(), "v/read");
  EXPECT_FALSE(reference.is_resource());
  const VariableNodes resource = *AddVariable(b_.Scope("net"), "w", Value(), true);
  EXPECT_EQ(resource.handle.node->name(), "net/w");
  EXPECT_EQ(resource.initializer->name(), "net/w/Assign");
  EXPECT_EQ(resource.value.ToString(), "net/w/Read/ReadVariableOp");
  EXPECT_TRUE(resource.is_resource());
  EXPECT_EQ(*resource.handle.node->Attr<std::string>("shared_name"), "net/w");
}

TEST_F(VariableNodesTest, TypeAndShapeAreThoseOfTheInitialValue) {
  for (const bool use_resource : {false, true}) {
    const VariableNodes v = *AddVariable(b_, "v", b_.ScalarConst(DType::kDouble, 1), use_resource);
    EXPECT_EQ(v.dtype(), DType::kDouble);
    EXPECT_EQ(v.shape(), PartialShape(Shape{}));
    EXPECT_EQ(v.value.dtype(), DType::kDouble);
  }
}

TEST_F(VariableNodesTest, InitializerAndReadLieBesideTheVariable) {
  const VariableNodes v = *AddVariable(b_, "v", Value(), true);
  for (const Node* node : {v.initializer, v.value.node}) {
    EXPECT_EQ(*node->Attr<std::vector<std::string>>("_class"), std::vector<std::string>{"loc:@v"});
  }
}

TEST_F(VariableNodesTest, AnInitialValueOfUnknownShapeIsRefused) {
  const Output unknown = b_.Op("Placeholder", {}, {{"dtype", DType::kFloat}}, "x");
  EXPECT_THAT(Words(AddVariable(b_, "v", unknown, true).status()),
              HasSubstr("the initial value 'x' of variable 'v' has shape"));
  EXPECT_THAT(Words(AddVariable(b_, "v", {}, true).status()), HasSubstr("needs an initial value"));
  EXPECT_EQ(graph_.FindNode("v"), nullptr) << "a refusal adds nothing";
}

TEST_F(VariableNodesTest, PartsAreFoundByTheHandle) {
  for (const bool use_resource : {false, true}) {
    const VariableNodes made = *AddVariable(b_, "v", Value(), use_resource);
    const VariableNodes found = *VariableOf(made.handle);
    EXPECT_EQ(found.initializer, made.initializer);
    EXPECT_EQ(found.value, made.value);
  }
  // A variable that came without them has none.
  const Output bare = b_.Op("VariableV2", {}, {{"dtype", DType::kFloat}, {"shape", Shape{2}}}, "u");
  const VariableNodes found = *VariableOf(bare);
  EXPECT_EQ(found.initializer, nullptr);
  EXPECT_EQ(found.value.node, nullptr);
}

TEST_F(VariableNodesTest, ASecondVariableOfANameHasPartsAndAStateOfItsOwn) {
  const VariableNodes first = *AddVariable(b_.Scope("net"), "w", Value(), true);
  const VariableNodes second = *AddVariable(b_.Scope("other"), "w", Value(), true);
  const VariableNodes third = *AddVariable(b_, "net/w", Value(), true);
  EXPECT_EQ(third.handle.node->name(), "net/w_1");
  EXPECT_EQ(third.initializer->name(), "net/w_1/Assign");
  EXPECT_EQ(*third.handle.node->Attr<std::string>("shared_name"), "net/w_1");
  EXPECT_EQ(*second.handle.node->Attr<std::string>("shared_name"), "other/w");
  EXPECT_EQ(VariableOf(third.handle)->initializer, third.initializer);
  EXPECT_NE(third.initializer, first.initializer);
}

TEST_F(VariableNodesTest, WhatIsNoVariableIsNamed) {
  const Output constant = b_.ScalarConst(DType::kFloat, 1, "one");
  EXPECT_EQ(Words(VariableOf(constant).status()),
            "expected a variable, got the output of Const 'one'");
  EXPECT_EQ(Words(VariableOf(Output()).status()), "expected a variable, got no output");
}

}  // namespace
}  // namespace thalweg
