// SPDX-License-Identifier: Apache-2.0
#include "thalweg/kernel/fused_ops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thalweg/graph/graph_builder.h"
#include "thalweg/kernel/test_device.h"
#include "thalweg/kernel/test_step.h"

namespace thalweg {
namespace {

using Names = std::vector<std::string>;

// Parsing asks for the node alone.
class FusedOpsTest : public testing::Test {
 protected:
  Result<FusedOps> Parse(const Names& names, int num_args, bool may_batch_norm = false,
                         float alpha = 0.25F) {
    Graph graph(ops_);
    GraphBuilder b(&graph);
    const Output x = b.Op("Placeholder", {}, {{"dtype", DType::kFloat}});
    std::vector<Output> inputs(2 + static_cast<size_t>(num_args), x);
    const Node* const node = b.OpNode("_FusedMatMul", std::move(inputs),
                                      {{"num_args", num_args},
                                       {"T", DType::kFloat},
                                       {"fused_ops", names},
                                       {"leakyrelu_alpha", alpha}},
                                      "fused");
    RETURN_IF_ERROR(b.status());
    return FusedOps::Parse(KernelConstruction(*node, device_, resources_), may_batch_norm);
  }

  NamedDevice device_{"/cpu:0"};
  ResourceManager resources_;
  std::shared_ptr<OpRegistry> ops_ = std::make_shared<OpRegistry>();
};

TEST_F(FusedOpsTest, BiasSumAndActivationMayFollowEachOther) {
  const FusedOps all = *Parse({"BiasAdd", "Add", "Tanh"}, 2);
  EXPECT_TRUE(all.bias && all.residual && !all.relu && !all.leaky_relu);
  EXPECT_EQ(all.activation, compute::UnaryOp::kTanh);
  EXPECT_EQ(all.args(), 2);
  const FusedOps none = *Parse({}, 0);
  EXPECT_FALSE(none.bias || none.residual || none.relu || none.activation.has_value());
  EXPECT_TRUE(Parse({"BiasAdd", "Relu"}, 1)->relu);
  EXPECT_EQ(Parse({"BiasAdd", "LeakyRelu"}, 1)->alpha, 0.25F);
}

TEST_F(FusedOpsTest, AUnknownOrMisplacedNameIsUnimplementedAndQuoted) {
  for (const Names& names : {Names{"Softmax"}, Names{"Relu", "BiasAdd"}, Names{"Add"},
                             Names{"BiasAdd", "Relu", "Tanh"}, Names{"FusedBatchNorm"}}) {
    const Status status = Parse(names, 0).status();
    EXPECT_EQ(status.code(), Code::kUnimplemented) << status.ToString();
    EXPECT_NE(status.message().find("is unknown, or out of place"), std::string::npos);
  }
  EXPECT_NE(Parse({"BiasAdd", "Relu", "Tanh"}, 1).status().message().find("'Tanh'"),
            std::string::npos);
}

TEST_F(FusedOpsTest, TheNumberOfArgsIsThatOfTheOperations) {
  const Status status = Parse({"BiasAdd", "Add"}, 1).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.message(), "fused_ops need 2 args, got 1");
}

TEST_F(FusedOpsTest, ABatchNormTakesThePlaceOfTheBiasWhereItMay) {
  const FusedOps fused = *Parse({"FusedBatchNorm", "Add", "Relu"}, 5, true);
  EXPECT_TRUE(fused.batch_norm && fused.residual && fused.relu && !fused.bias);
  EXPECT_EQ(Parse({"FusedBatchNorm", "BiasAdd"}, 5, true).status().code(), Code::kUnimplemented);
}

TEST_F(FusedOpsTest, ActivatesInPlaceAndLeavesReluToTheProduct) {
  TestStep step;
  const auto activate = [&](const FusedOps& fused, Tensor y) {
    const Status status = fused.Activate(step.work, &y);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return y;
  };
  const auto values = [] { return Tensor::Vector<float>({-2, 0, 8}); };
  EXPECT_EQ(ElementsOf<float>(activate({.relu = true}, values())), (std::vector<float>{-2, 0, 8}));
  EXPECT_EQ(ElementsOf<float>(activate({.activation = compute::UnaryOp::kRelu6}, values())),
            (std::vector<float>{0, 0, 6}));
  const FusedOps leaky{.leaky_relu = true, .alpha = 0.5F};
  EXPECT_EQ(ElementsOf<float>(activate(leaky, values())), (std::vector<float>{-1, 0, 8}));
  const Tensor wide = activate(leaky, Tensor::Vector<double>({-2, 0, 8}));
  EXPECT_EQ(ElementsOf<double>(wide), (std::vector<double>{-1, 0, 8}))
      << "of each type's own alpha";
  const Tensor narrow =
      activate(leaky, Tensor::Vector<Half>({Half(-2.0F), Half(0.0F), Half(8.0F)}));
  EXPECT_EQ(static_cast<float>(narrow.data<Half>()[0]), -1.0F);
}

}  // namespace
}  // namespace thalweg
