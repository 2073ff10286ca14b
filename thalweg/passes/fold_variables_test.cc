// SPDX-License-Identifier: Apache-2.0
#include "thalweg/passes/fold_variables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thalweg/passes/test_pass.h"

namespace thalweg {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class FoldVariablesTest : public PassTest {
 protected:
  FoldVariablesTest() {
    Define({"Add",
            "Assert",
            "Assign",
            "AssignAddVariableOp",
            "Const",
            "Enter",
            "Exit",
            "GatherV2",
            "Identity",
            "IdentityN",
            "IsVariableInitialized",
            "Merge",
            "Neg",
            "NextIteration",
            "NoOp",
            "Placeholder",
            "ReadVariableOp",
            "ResourceGather",
            "Shape",
            "Switch",
            "VarHandleOp",
            "VarIsInitializedOp",
            "VariableShape",
            "VariableV2",
            "LoopCond"},
           UnknownShape);
    x = Placeholder("x");
    p = b.Op("Placeholder", {}, {{"dtype", DType::kBool}}, "p");
  }
  Output Resource(std::string_view name = "v") {
    return b.Op("VarHandleOp", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape{2}}}, name);
  }
  Output Ref(std::string_view name = "r") {
    return b.Op("VariableV2", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape{2}}}, name);
  }
  Output Read(Output handle) {
    return b.Op("ReadVariableOp", {handle}, {{"dtype", DType::kFloat}});
  }
  Result<StepGraph> Fold(std::vector<Output> fetches, std::vector<Node*> targets = {}) {
    const Tensor value = Tensor::Vector<float>({1, 2});
    return FoldVariables(Step(std::move(fetches), std::move(targets)),
                         {{"v", value}, {"r", value}});
  }
  std::vector<std::string> Ops(std::vector<Output> fetches, std::vector<Node*> targets = {}) {
    Result<StepGraph> step = Fold(std::move(fetches), std::move(targets));
    EXPECT_TRUE(step.ok()) << step.status().ToString();
    if (!step.ok()) return {};
    return Made(Prune(*step));  // of what nobody needs any more
  }

  Output x, p;
};

TEST_F(FoldVariablesTest, ReadsAreTheConstant) {
  const Output read = b.Op("Identity", {Ref()});
  EXPECT_THAT(Ops({b.Op("Neg", {Read(Resource())}), b.Op("Neg", {read})}),
              ElementsAre("Neg", "Neg"));
  for (const Output& fetch : result.fetches) {
    EXPECT_EQ(fetch.node->input(0).node->op_name(), "Const");
  }
  EXPECT_EQ(result.fetches[0].node->input(0).node->name(), "v");
}

TEST_F(FoldVariablesTest, GathersAndShapes) {
  const Output handle = Resource();
  const Output row =
      b.Op("ResourceGather", {handle, b.Op("Placeholder", {}, {{"dtype", DType::kInt32}})},
           {{"dtype", DType::kFloat}});
  const Output shape = b.Op("VariableShape", {handle}, {{"out_type", DType::kInt32}});
  const Output there = b.Op("VarIsInitializedOp", {handle});
  EXPECT_THAT(Ops({row, shape, there}), ElementsAre("GatherV2", "Shape"));
  EXPECT_EQ(result.fetches[2].node->op_name(), "Const");
}

TEST_F(FoldVariablesTest, WhatPassesAVariableOnPassesTheValueOn) {
  const Output handle = Resource();
  Node* const turn = b.OpNode("Switch", {handle, p}, {}, "turn");
  const Output y = b.Op("Neg", {Read({turn, 1})});
  EXPECT_THAT(Ops({y}), ElementsAre("Switch", "Identity", "Neg"));
  const Node& made = *result.graph->FindNode("turn");
  EXPECT_EQ(made.output_type(0), DType::kFloat);
}

TEST_F(FoldVariablesTest, ALoopCarriesTheValue) {
  const AttrMap frame = {{"frame_name", "f"}, {"is_constant", false}};
  const Output enter = b.Op("Enter", {Resource()}, frame, "enter");
  Node* const merge = b.OpNode("Merge", {enter, Output()}, {}, "merge");
  const Output in = b.Op("Enter", {p}, {{"frame_name", "f"}, {"is_constant", true}}, "in");
  const Output go = b.Op("LoopCond", {in});
  Node* const turn = b.OpNode("Switch", {{merge, 0}, go}, {}, "turn");
  const Output y = Read({turn, 1});
  const Output next = b.Op("NextIteration", {{turn, 1}}, {}, "next");
  ASSERT_TRUE(b.ok()) << b.status().ToString();
  ASSERT_TRUE(graph->SetBackEdge(merge, 1, next).ok());
  const Output out = Read(b.Op("Exit", {{turn, 0}}, {}, "exit"));
  EXPECT_THAT(Ops({b.Op("Neg", {out})}, {y.node}),
              ElementsAre("Enter", "Merge", "Enter", "LoopCond", "Switch", "Identity",
                          "NextIteration", "Exit", "Identity", "Neg"));
  EXPECT_EQ(result.graph->FindNode("merge")->input(1).node->name(), "next");
  EXPECT_EQ(result.graph->FindNode("exit")->output_type(0), DType::kFloat);
}

TEST_F(FoldVariablesTest, ControlEdgesOfNoEffectGo) {
  Node* const quiet = b.OpNode("NoOp", {}, {});
  Node* const check = b.OpNode("Assert", {p, x}, {}, "check");
  ASSERT_TRUE(b.ok()) << b.status().ToString();
  Node* const read = Read(Resource()).node;
  ASSERT_TRUE(graph->AddControlInput(read, quiet).ok());
  EXPECT_THAT(Ops({b.Op("Neg", {{read, 0}})}), ElementsAre("Neg"));
  ASSERT_TRUE(graph->AddControlInput(read, check).ok());
  EXPECT_THAT(Ops({b.Op("Neg", {{read, 0}})}), ElementsAre("Assert", "Identity", "Neg"));
}

TEST_F(FoldVariablesTest, WhatChangesAVariableIsNamed) {
  Node* const change = b.OpNode("AssignAddVariableOp", {Resource(), x}, {}, "more");
  Result<StepGraph> refused = Fold({}, {change});
  EXPECT_EQ(refused.status().code(), Code::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.status().message()),
              HasSubstr("AssignAddVariableOp 'more' does more with the variable 'v' than read it"));
  refused = Fold({b.Op("Assign", {Ref(), x}, {}, "set")});
  EXPECT_THAT(std::string(refused.status().message()),
              HasSubstr("Assign 'set' does more with the variable 'r' than read it"));
}

}  // namespace
}  // namespace thalweg
