// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/graph/graph_builder.h"
#include "thalweg/testing/graph_runner.h"
#include "thalweg/testing/registries.h"

namespace thalweg {
namespace {

class VariableTest : public testing::Test {
 protected:
  VariableTest()
      : graph_(AllRegistries().ops),
        b_(&graph_),
        machine_(compute::BestIsaLevel(), false),
        runner_(*AllRegistries().kernels, machine_) {}

  Output NewVariable(const std::string& name, AttrMap attrs = {}) {
    attrs.Set("dtype", DType::kFloat);
    attrs.Set("shape", Shape{2});
    return b_.Op("VariableV2", {}, std::move(attrs), name);
  }
  Node* AssignTo(Output variable, float a, float b) {
    return b_.OpNode("Assign", {variable, b_.Const(Tensor::Vector<float>({a, b}))});
  }
  Status RunTarget(Node* node) { return runner_.Run({}, {}, {node}).status(); }
  // The first element.
  float Value(Output output) {
    Result<std::vector<Tensor>> got = runner_.Run({}, {output});
    EXPECT_TRUE(got.ok()) << got.status().ToString();
    return got.ok() ? (*got)[0].data<float>()[0] : -1;
  }

  Graph graph_;
  GraphBuilder b_;
  TestMachine machine_;
  GraphRunner runner_;
};

TEST_F(VariableTest, KeepsItsValueFromStepToStep) {
  const Output v = NewVariable("v");
  Node* assign = AssignTo(v, 1, 2);
  Node* add = b_.OpNode("AssignAdd", {v, b_.Const(Tensor::Vector<float>({10, 20}))});
  const Output read = b_.Op("Identity", {v});
  ASSERT_TRUE(b_.ok()) << b_.status().ToString();
  EXPECT_EQ(read.shape(), (PartialShape{2}));
  ASSERT_TRUE(RunTarget(assign).ok());
  ASSERT_TRUE(RunTarget(add).ok());
  ASSERT_TRUE(RunTarget(add).ok());
  EXPECT_EQ(Value(read), 21.0f);
}

TEST_F(VariableTest, ReadingBeforeAssigningNamesTheVariable) {
  const Output v = NewVariable("weights");
  const Output read = b_.Op("Identity", {v});
  const Output initialized = b_.Op("IsVariableInitialized", {v});
  Node* add = b_.OpNode("AssignAdd", {v, b_.Const(Tensor::Vector<float>({10, 20}))});
  for (Node* node : {read.node, add}) {
    const Status status = RunTarget(node);
    EXPECT_EQ(status.code(), Code::kFailedPrecondition);
    EXPECT_NE(status.message().find("'weights'"), std::string_view::npos) << status.ToString();
  }
  EXPECT_FALSE((*runner_.Run({}, {initialized}))[0].scalar<bool>());
}

TEST_F(VariableTest, ContainersAndReset) {
  const Output a = NewVariable("a", {{"shared_name", "shared"}});
  const Output b = NewVariable("b", {{"shared_name", "shared"}});
  const Output c = NewVariable("c", {{"shared_name", "shared"}, {"container", "other"}});
  ASSERT_TRUE(RunTarget(AssignTo(a, 1, 1)).ok());
  ASSERT_TRUE(RunTarget(AssignTo(c, 3, 3)).ok());
  EXPECT_EQ(Value(b_.Op("Identity", {b})), 1.0f);
  const Output read_c = b_.Op("Identity", {c});
  EXPECT_EQ(Value(read_c), 3.0f);
  runner_.resources().ResetContainer("other");
  EXPECT_EQ(runner_.Run({}, {read_c}).status().code(), Code::kFailedPrecondition);
  EXPECT_EQ(Value(b_.Op("Identity", {a})), 1.0f);
}

TEST_F(VariableTest, OneNameHasOneType) {
  const Output a = NewVariable("a", {{"shared_name", "shared"}});
  const Output b = b_.Op(
      "VariableV2", {}, {{"dtype", DType::kInt32}, {"shape", Shape{2}}, {"shared_name", "shared"}});
  ASSERT_TRUE(RunTarget(a.node).ok());
  EXPECT_EQ(RunTarget(b.node).code(), Code::kInvalidArgument);
}

TEST_F(VariableTest, TheFirstFormWroteAScalarForAnUnknownShape) {
  const Output v = b_.Op("Variable", {}, {{"dtype", DType::kFloat}, {"shape", Shape()}});
  EXPECT_FALSE(v.shape().known_rank());
  EXPECT_TRUE(RunTarget(AssignTo(v, 1, 2)).ok());
}

TEST_F(VariableTest, TemporaryVariablesLiveForOneStep) {
  const Output v = b_.Op("TemporaryVariable", {},
                         {{"dtype", DType::kFloat}, {"shape", Shape{2}}, {"var_name", "t"}});
  const Output assigned = b_.Op("Assign", {v, b_.Const(Tensor::Vector<float>({4, 5}))});
  const Output last = b_.Op("DestroyTemporaryVariable", {assigned}, {{"var_name", "t"}});
  ASSERT_TRUE(b_.ok()) << b_.status().ToString();
  EXPECT_EQ(Value(last), 4.0f);
  EXPECT_EQ(Value(last), 4.0f);
  const Output wrong = b_.Op("DestroyTemporaryVariable", {assigned}, {{"var_name", "u"}});
  EXPECT_EQ(runner_.Run({}, {wrong}).status().code(), Code::kNotFound);
}

TEST_F(VariableTest, CountUpToEndsAtItsLimit) {
  const Output v = b_.Op("VariableV2", {}, {{"dtype", DType::kInt32}, {"shape", Shape()}});
  ASSERT_TRUE(RunTarget(b_.OpNode("Assign", {v, b_.Const(Tensor::Scalar(0))})).ok());
  const Output count = b_.Op("CountUpTo", {v}, {{"limit", 2}});
  for (int i = 0; i < 2; ++i) EXPECT_EQ((*runner_.Run({}, {count}))[0].scalar<int32_t>(), i);
  EXPECT_EQ(runner_.Run({}, {count}).status().code(), Code::kOutOfRange);
}

TEST_F(VariableTest, ResourceCountUpToEndsAtItsLimit) {
  const Output v = b_.Op("VarHandleOp", {}, {{"dtype", DType::kInt64}, {"shape", Shape()}});
  const Output zero = b_.Const(Tensor::Scalar(int64_t{0}));
  ASSERT_TRUE(RunTarget(b_.OpNode("AssignVariableOp", {v, zero})).ok());
  const Output count = b_.Op("ResourceCountUpTo", {v}, {{"limit", 2}, {"T", DType::kInt64}});
  for (int i = 0; i < 2; ++i) EXPECT_EQ((*runner_.Run({}, {count}))[0].scalar<int64_t>(), i);
  EXPECT_EQ(runner_.Run({}, {count}).status().code(), Code::kOutOfRange);
}

}  // namespace
}  // namespace thalweg
