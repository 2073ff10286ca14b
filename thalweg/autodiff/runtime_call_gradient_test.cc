// SPDX-License-Identifier: Apache-2.0
// Gradients of calls: of those that a step runs when it comes to them, of those that have a name.
#include <gtest/gtest.h>

#include "thalweg/autodiff/gradients.h"
#include "thalweg/graph/graph_proto.h"
#include "thalweg/testing/registries.h"

namespace thalweg {
namespace {

const std::vector<DType> kRuntimeCallTypes = {DType::kFloat};

AttrMap RuntimeCallOf(FunctionRef call) {
  return {{"Tin", kRuntimeCallTypes}, {"Tout", kRuntimeCallTypes}, {"call", std::move(call)}};
}

struct RuntimeCallGradientTest : testing::Test {
  RuntimeCallGradientTest() : graph_(AllRegistries().ops), b_(&graph_) {
    const Status imported = ImportGraphDefText(R"(library { function {
        signature { name: "f" input_arg { name: "x" type: DT_FLOAT }
          output_arg { name: "y" type: DT_FLOAT } }
        node_def { name: "n" op: "Neg" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
        ret { key: "y" value: "n:y:0" } } })",
                                               graph_)
                                .status();
    EXPECT_TRUE(imported.ok()) << imported.ToString();
    x_ = b_.Op("Placeholder", {}, {{"dtype", DType::kFloat}});
  }
  Result<std::vector<GradientValue>> Gradient(FunctionRef call) {
    const Output y = b_.Op("_RuntimeCall", {x_}, RuntimeCallOf(std::move(call)), "call");
    RETURN_IF_ERROR(b_.status());
    return AddGradients(&graph_, {y}, {x_}, {});
  }
  Graph graph_;
  GraphBuilder b_;
  Output x_;
};

TEST_F(RuntimeCallGradientTest, IsThatOfTheFunction) {
  for (const FunctionRef& call :
       {FunctionRef{"f", {}}, FunctionRef{"PartitionedCall", {{"f", FunctionRef{"f", {}}}}}}) {
    const auto gradient = Gradient(call);
    ASSERT_TRUE(gradient.ok()) << gradient.status().ToString();
    const Node& node = *(*gradient)[0].values.node;
    EXPECT_EQ(node.op_name(), "SymbolicGradient");
    EXPECT_EQ(node.Attr<FunctionRef>("f")->name, "f");
  }
}

TEST_F(RuntimeCallGradientTest, IsRefusedWhereSeveralFunctionsAreCalled) {
  const Status status = Gradient({"If", {}}).status();
  EXPECT_EQ(status.code(), Code::kUnimplemented) << status.ToString();
}

TEST_F(RuntimeCallGradientTest, TheNameThatTensorFlowGaveIsTheFunction) {
  AttrMap attrs = {{"Tin", kRuntimeCallTypes},
                   {"Tout", kRuntimeCallTypes},
                   {"f", FunctionRef{"f", {}}},
                   {"_gradient_op_type", "PartitionedCall-728"}};
  const Output y = b_.Op("StatefulPartitionedCall", {x_}, attrs);
  const auto gradient = AddGradients(&graph_, {y}, {x_}, {});
  ASSERT_TRUE(gradient.ok()) << gradient.status().ToString();
  EXPECT_EQ((*gradient)[0].values.node->op_name(), "SymbolicGradient");
  attrs.Set("_gradient_op_type", "CustomGradient-728");
  const Output other = b_.Op("StatefulPartitionedCall", {x_}, attrs);
  EXPECT_EQ(AddGradients(&graph_, {other}, {x_}, {}).status().code(), Code::kNotFound);
}

}  // namespace
}  // namespace thalweg
