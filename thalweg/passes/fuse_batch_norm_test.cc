// SPDX-License-Identifier: Apache-2.0
#include "thalweg/passes/fuse_batch_norm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thalweg/passes/test_pass.h"

namespace thalweg {
namespace {

using ::testing::ElementsAre;

Status Image(ShapeContext& c) {
  c.set_output(0, PartialShape{2, 5, 5, 64});
  return OkStatus();
}

class FuseBatchNormTest : public PassTest {
 protected:
  FuseBatchNormTest() {
    Define({"AddV2", "FusedBatchNormGradV3", "FusedBatchNormV3", "Neg", "Placeholder", "Relu",
            "ReluGrad", "_FusedBatchNormEx"},
           Image);
    x = Placeholder("x");
  }
  Output Relu(Output value, std::string_view name) { return b.Op("Relu", {value}, {}, name); }
  Output NormGrad(Node* norm, Output grad, float epsilon = 0.25f) {
    return b.Op("FusedBatchNormGradV3",
                {grad, norm->input(0), norm->input(1), {norm, 3}, {norm, 4}, {norm, 5}},
                {{"is_training", true}, {"epsilon", epsilon}}, StrCat(norm->name(), "_grad"));
  }
  std::vector<std::string> Ops(std::vector<Output> fetches, std::vector<Node*> targets = {}) {
    return Made(FuseBatchNorms(Step(std::move(fetches), std::move(targets))));
  }

  Output x;
};

TEST_F(FuseBatchNormTest, ReluAndItsGradientJoin) {
  Node* norm = Norm(x, "n");
  const Output y = Relu({norm, 0}, "y");
  const Output grad = b.Op("ReluGrad", {Placeholder("dy"), y}, {}, "masked");
  const Output dx = NormGrad(norm, grad);
  EXPECT_THAT(Ops({y, dx, {norm, 1}}), ElementsAre("_FusedBatchNormEx", "_FusedBatchNormGradEx"));
  const Node& made = *result.fetches[0].node;
  EXPECT_EQ(*made.Attr<std::string>("activation_mode"), "Relu");
  EXPECT_EQ(*made.Attr<float>("epsilon"), 0.25f);
  EXPECT_EQ(result.fetches[2], (Output{const_cast<Node*>(&made), 1}));
  const Node& back = *result.fetches[1].node;
  EXPECT_EQ(back.input(0).node->name(), "dy");
  EXPECT_EQ(back.input(3), (Output{const_cast<Node*>(&made), 3}));
  EXPECT_EQ(back.input(6).node->name(), "n_offset");
  EXPECT_EQ(back.input(7), result.fetches[0]);
}

TEST_F(FuseBatchNormTest, TheLaterOfTwoTakesTheSum) {
  Node *first = Norm(x, "n1"), *second = Norm(x, "n2");
  const Output y = Relu(b.Op("AddV2", {{first, 0}, {second, 0}}, {}, "sum"), "y");
  EXPECT_THAT(Ops({y}), ElementsAre("FusedBatchNormV3", "_FusedBatchNormEx"));
  const Node& made = *result.fetches[0].node;
  ASSERT_EQ(made.num_inputs(), 6);
  EXPECT_EQ(made.input(5).node->op_name(), "FusedBatchNormV3");
  EXPECT_EQ(*made.Attr<int64_t>("num_side_inputs"), 1);
  // What a gradient masks is read by others too: it stays.
  const Output masked = b.Op("ReluGrad", {Placeholder("dy"), y}, {}, "masked");
  EXPECT_THAT(Ops({NormGrad(second, masked)}), ElementsAre("FusedBatchNormV3", "_FusedBatchNormEx",
                                                           "ReluGrad", "FusedBatchNormGradV3"));
}

TEST_F(FuseBatchNormTest, ValuesThatOthersSeeStay) {
  Node* norm = Norm(x, "n");
  const Output y = Relu({norm, 0}, "y");
  EXPECT_THAT(Ops({y, {norm, 0}}), ElementsAre("FusedBatchNormV3", "Relu"));
  EXPECT_THAT(Ops({y, b.Op("Neg", {{norm, 0}}, {}, "neg")}),
              ElementsAre("FusedBatchNormV3", "Relu", "Neg"));
  Node* other = Norm(x, "n2");
  const Output z = Relu({other, 0}, "z");
  const Output masked = b.Op("ReluGrad", {Placeholder("dy"), z}, {}, "masked");
  EXPECT_THAT(Ops({NormGrad(other, masked), masked}),
              ElementsAre("_FusedBatchNormEx", "ReluGrad", "FusedBatchNormGradV3"));
  Node* third = Norm(x, "n3");
  const Output m3 = b.Op("ReluGrad", {x, Relu({third, 0}, "r3")}, {}, "m3");
  EXPECT_THAT(Ops({NormGrad(third, m3, 0.5f)}),
              ElementsAre("_FusedBatchNormEx", "ReluGrad", "FusedBatchNormGradV3"))
      << "another epsilon: not this one's gradient";
}

TEST_F(FuseBatchNormTest, SixteenBitsJoinForwards) {
  for (DType type : {DType::kHalf, DType::kBfloat16}) {
    const auto image = [&](const char* name) {
      return b.Op("Placeholder", {}, {{"dtype", type}}, StrCat(name, DTypeName(type)));
    };
    Node* norm = Norm(image("image"), StrCat("n", DTypeName(type)));
    const Output y = Relu({norm, 0}, StrCat("y", DTypeName(type)));
    const Output grad = b.Op("ReluGrad", {image("dy"), y});
    EXPECT_THAT(Ops({y, NormGrad(norm, grad)}),
                ElementsAre("_FusedBatchNormEx", "ReluGrad", "FusedBatchNormGradV3"));
    EXPECT_EQ(*result.fetches[0].node->Attr<DType>("T"), type);
  }
}

}  // namespace
}  // namespace thalweg
