// SPDX-License-Identifier: Apache-2.0
#include "thalweg/passes/check_numerics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thalweg/graph/graph_builder.h"
#include "thalweg/passes/prune.h"
#include "thalweg/testing/registries.h"

namespace thalweg {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class CheckNumericsTest : public ::testing::Test {
 protected:
  Output Placeholder(std::string_view name, DType dtype = DType::kFloat) {
    return b.Op("Placeholder", {}, {{"dtype", dtype}, {"shape", PartialShape(Shape{2})}}, name);
  }
  StepGraph Checked(std::vector<Output> fetches, std::vector<Output> feeds = {},
                    std::vector<Node*> targets = {}) {
    EXPECT_TRUE(b.ok()) << b.status().ToString();
    before = *Prune(
        *graph,
        {.feeds = std::move(feeds), .fetches = std::move(fetches), .targets = std::move(targets)});
    Result<StepGraph> checked = CheckNumerics(before);
    EXPECT_TRUE(checked.ok()) << checked.status().ToString();
    return *checked;
  }
  // The nodes that checks stand for.
  static std::vector<std::string> OfChecks(const StepGraph& step) {
    std::vector<std::string> labels;
    for (const Node* node : step.graph->Nodes()) {
      if (!node->op_name().starts_with("_CheckFinite")) continue;
      labels.push_back(*node->FindAttr("_fused_from")->GetIf<std::string>());
    }
    return labels;
  }

  const std::shared_ptr<Graph> graph = std::make_shared<Graph>(AllRegistries().ops);
  GraphBuilder b{graph.get()};
  StepGraph before;
};

TEST_F(CheckNumericsTest, EveryFloatingOutputThatIsUsed) {
  const Output x = Placeholder("x");
  const Output log = b.Op("Log", {x}, {}, "log");
  const Output same = b.Op("Identity", {log}, {}, "same");
  const Output y = b.Op("Add", {same, x}, {}, "y");
  const Output shape = b.Op("Shape", {y}, {}, "shape");
  const StepGraph step = Checked({y, shape}, {x});
  EXPECT_THAT(OfChecks(step), UnorderedElementsAre("Placeholder 'x'", "Log 'log'", "Add 'y'"));
  // Readers and fetches have what was checked; the feed itself is the placeholder.
  EXPECT_EQ(step.graph->FindNode("same")->input(0).node->op_name(), "_CheckFinite");
  EXPECT_EQ(step.fetches[0].node->op_name(), "_CheckFinite");
  EXPECT_EQ(step.feeds[0].node->name(), "x");
  const Node& check = *step.fetches[0].node;
  EXPECT_THAT(*check.FindAttr("input_names")->GetIf<std::vector<std::string>>(),
              ElementsAre("'same'", "'x'"));
  EXPECT_EQ(step.Origin(check), step.Origin(*step.graph->FindNode("y")));
}

TEST_F(CheckNumericsTest, NothingWithoutFloats) {
  const Output x = Placeholder("x", DType::kInt32);
  EXPECT_THAT(OfChecks(Checked({b.Op("Neg", {x}, {}, "y")}, {x})), IsEmpty());
}

TEST_F(CheckNumericsTest, VariablesThatAreChangedOrRead) {
  const PartialShape two(Shape{2});
  const auto variable = [&](const char* op, const char* name) {
    return b.Op(op, {}, {{"dtype", DType::kFloat}, {"shape", two}}, name);
  };
  const Output v = variable("VarHandleOp", "v"), kept = variable("VarHandleOp", "kept");
  const Output x = Placeholder("x");
  const Output rate = b.Op("Identity", {b.Const(Tensor::Scalar(1.0F), "one")}, {}, "rate");
  Node* const update = b.OpNode("ResourceApplyAdagrad", {v, kept, rate, x}, {}, "update");
  const Output behind = b.WithControls({update}).Op("Neg", {x}, {}, "behind");
  const Output r = variable("VariableV2", "r");
  const Output read = b.Op("Identity", {r}, {}, "r/read");
  const Output assigned = b.Op("AssignAdd", {r, x}, {}, "assign");
  const Output reread = b.Op("Identity", {assigned}, {}, "reread");
  const StepGraph step = Checked({read, behind, reread}, {x}, {update});
  EXPECT_THAT(OfChecks(step),
              UnorderedElementsAre("Placeholder 'x'", "ResourceApplyAdagrad 'update'",
                                   "ResourceApplyAdagrad 'update'", "Neg 'behind'", "Const 'one'",
                                   "Identity 'r/read'", "AssignAdd 'assign'", "Identity 'reread'"));
  // Who runs behind an update runs behind its checks.
  const auto waits = [&](const char* name) {
    int checks = 0;
    for (const Node* before : step.graph->FindNode(name)->control_inputs()) {
      checks += before->op_name().starts_with("_CheckFinite");
    }
    return checks;
  };
  EXPECT_EQ(waits("behind"), 2);
  EXPECT_EQ(waits("reread"), 1);
  EXPECT_EQ(waits("r/read"), 0);
}

// Infinite values of a variable are the program's own; what is computed of it is not.
TEST_F(CheckNumericsTest, OnlyAReadOfAReferenceIsASource) {
  const Output r =
      b.Op("VariableV2", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape(Shape{2})}}, "r");
  const Output read = b.Op("Identity", {r}, {}, "read"), log = b.Op("Log", {r}, {}, "log");
  const StepGraph step = Checked({read, log});
  const auto only_nan = [&](int fetch) {
    return *step.fetches[fetch].node->Attr<bool>("only_nan");
  };
  EXPECT_TRUE(only_nan(0));
  EXPECT_FALSE(only_nan(1));
}

TEST_F(CheckNumericsTest, WhatIsRunForItsOwnSakeIsLookedAt) {
  const Output x = Placeholder("x");
  const Output log = b.Op("Log", {x}, {}, "log");
  EXPECT_THAT(OfChecks(Checked({}, {x}, {log.node})),
              UnorderedElementsAre("Placeholder 'x'", "Log 'log'"));
}

// On a processor of the task; the rest of its device is asked for as before.
TEST_F(CheckNumericsTest, AChecksDeviceIsAProcessors) {
  const Output x = Placeholder("x");
  const Output log = b.WithDevice("/job:worker/task:1/device:GPU:0").Op("Log", {x}, {}, "log");
  const StepGraph step = Checked({log}, {x});
  EXPECT_EQ(step.fetches[0].node->device(), "/job:worker/task:1");
}

}  // namespace
}  // namespace thalweg
